import type { CustomStatus } from '@parley/contract'
import type { Workspace } from './workspace.ts'

/** The custom status of a person, if they are known and have one that has not expired. */
export function customStatusOf({ myId, me, user }: Workspace, id: string): CustomStatus | undefined {
  const status = (id === myId ? me.value : user(id))?.customStatus
  // The server removes it a little later.
  return status && (status.expiresAt ?? Infinity) > Date.now() ? status : undefined
}

/** A custom status in one line. */
export const lineOf = (status: CustomStatus | undefined): string =>
  status ? `${status.emoji ?? ''} ${status.text}`.trim() : ''
