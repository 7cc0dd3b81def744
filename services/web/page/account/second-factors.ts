import type { ResponseOf, Routes } from '@parley/client'
import { RequestFailed } from '@parley/client'
import { useFetched } from '../app/fetched.tsx'
import { askForPasskey } from '../app/passkeys.ts'
import { client } from '../app/session.ts'

type SecondFactors = ResponseOf<'GET /auth/second-factors'>
export type Passkey = ResponseOf<'GET /auth/passkeys'>['passkeys'][number]
export type Proof = NonNullable<Routes['DELETE /auth/totp']['body']>

export interface Factors extends SecondFactors {
  passkeyList: readonly Passkey[]
}

/** The second factors of the person. Null if the server does not support any. */
export const useFactors = () =>
  useFetched(async (): Promise<Factors | null> => {
    try {
      const [own, { passkeys }] = await Promise.all([
        client.request('GET /auth/second-factors'),
        client.request('GET /auth/passkeys'),
      ])
      return { ...own, passkeyList: passkeys }
    } catch (error) {
      if (error instanceof RequestFailed && error.status === 404) return null
      throw error
    }
  })

/** The proof of the second factor for a request: the typed code of the app, the typed recovery code, or else a passkey. */
export async function proofOf(typed: string, { passkeys }: Pick<Factors, 'passkeys'>): Promise<Proof> {
  const code = typed.replaceAll(/\s/g, '')
  if (code === '') return passkeys > 0 ? { credential: await askForPasskey(client) } : {}
  return /^\d{6}$/.test(code) ? { code } : { recoveryCode: code }
}
