import type { ResponseOf, SignInOperation } from '@parley/client'
import { signal } from '@preact/signals'
import { address } from '../app/address.ts'
import { continueSession } from '../app/session.ts'

type SignInResponse = ResponseOf<SignInOperation>
export type WaitingSignIn = Extract<SignInResponse, { mfaRequired: true }>

/** A sign-in that waits for a second factor. */
export const waitingSignIn = signal<WaitingSignIn | null>(null)

/** Signs in and opens the address that the person wanted, or asks for the second factor first. */
export async function completeSignIn(signIn: () => Promise<SignInResponse>) {
  const response = await signIn()
  if ('mfaRequired' in response) {
    waitingSignIn.value = response
    return
  }
  waitingSignIn.value = null
  await continueSession(address.value.view === 'link' ? '/' : location.pathname + location.search)
}
