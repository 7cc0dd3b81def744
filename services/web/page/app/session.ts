import { type Client, createClient, RequestFailed, tokensInCookie } from '@parley/client'
import { signal } from '@preact/signals'
import { forgetDrafts } from '../messages/drafts.ts'
import { navigate } from './address.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

export type SessionState =
  | { state: 'starting' | 'unreachable' }
  | { state: 'signed-out' }
  | { state: 'signed-in'; workspace: Workspace }

export const session = signal<SessionState>({ state: 'starting' })

/** The one client of this page. The refresh token is in a cookie that no script can read. */
export const client: Client = createClient({ baseUrl: '', tokens: tokensInCookie(), onSignedOut: leave })

const retryMs = 2_000

/** Goes on with the session of the cookie, if there is one. */
export async function startSession(): Promise<void> {
  try {
    const { user } = await client.request('GET /auth/me')
    enter(user.id)
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    if (error.status === 401) return leave()
    session.value = { state: 'unreachable' }
    setTimeout(() => void startSession(), retryMs)
  }
}

/** A sign-in has succeeded. `returnTo` is where the person wanted to go. */
export function enter(userId: string, returnTo?: string) {
  session.value = { state: 'signed-in', workspace: createWorkspace(client, userId) }
  if (returnTo !== undefined) navigate(returnTo, { replace: true })
}

export async function signOut() {
  const { value } = session
  forgetDrafts()
  if (value.state === 'signed-in') await value.workspace.signOut()
  leave()
  navigate('/', { replace: true })
}

/** The session has ended, here or elsewhere. */
function leave() {
  const { value } = session
  if (value.state === 'signed-in') value.workspace.end()
  session.value = { state: 'signed-out' }
}
