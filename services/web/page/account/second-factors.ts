import type { ResponseOf, Routes } from '@parley/client'
import { RequestFailed } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { askForPasskey } from '../app/passkeys.ts'
import { client } from '../app/session.ts'
import { showFailure } from '../ui/problems.ts'

type SecondFactors = ResponseOf<'GET /auth/second-factors'>
export type Passkey = ResponseOf<'GET /auth/passkeys'>['passkeys'][number]
export type Proof = NonNullable<Routes['DELETE /auth/totp']['body']>

export interface Factors extends SecondFactors {
  passkeyList: readonly Passkey[]
}

/** The second factors of the person. Null if the server does not support any, undefined until the response has come. */
export function useFactors() {
  const factors = useSignal<Factors | null | undefined>(undefined)
  async function load() {
    try {
      const [own, { passkeys }] = await Promise.all([
        client.request('GET /auth/second-factors'),
        client.request('GET /auth/passkeys'),
      ])
      factors.value = { ...own, passkeyList: passkeys }
    } catch (error) {
      if (error instanceof RequestFailed && error.status === 404) factors.value = null
      else showFailure(error)
    }
  }
  useEffect(() => void load(), [])
  return { factors, load }
}

/** The proof of the second factor for a request: the typed code of the app, the typed recovery code, or else a passkey. */
export async function proofOf(typed: string, { passkeys }: Pick<Factors, 'passkeys'>): Promise<Proof> {
  const code = typed.replaceAll(/\s/g, '')
  if (code === '') return passkeys > 0 ? { credential: await askForPasskey(client) } : {}
  return /^\d{6}$/.test(code) ? { code } : { recoveryCode: code }
}
