import type { Reply, SignInOperation } from '@parley/client'
import { signal } from '@preact/signals'
import { address } from '../app/address.ts'
import { continueSession } from '../app/session.ts'

type SignInReply = Reply<SignInOperation>
export type WaitingSignIn = Extract<SignInReply, { mfaRequired: true }>

/** A sign-in that waits for a second factor. */
export const waiting = signal<WaitingSignIn | null>(null)

/** Signs in and opens the address that the person wanted, or asks for the second factor first. */
export async function completeSignIn(signIn: () => Promise<SignInReply>) {
  const reply = await signIn()
  if ('mfaRequired' in reply) {
    waiting.value = reply
    return
  }
  waiting.value = null
  await continueSession(address.value.view === 'link' ? '/' : location.pathname + location.search)
}
