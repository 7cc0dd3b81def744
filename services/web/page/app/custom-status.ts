import type { CustomStatus } from '@parley/contract'
import { signal } from '@preact/signals'
import type { Workspace } from './workspace.ts'

/** What reads it renders again every minute, because a status may end before the event comes. */
const minutes = signal(0)
setInterval(() => minutes.value++, 60_000)

/** The custom status of a person, if they are known, not deactivated, and have one that has not expired. */
export function customStatusOf({ myId, me, user }: Workspace, id: string): CustomStatus | undefined {
  const person = id === myId ? me.value : user(id)
  const status = person?.isActive === false ? undefined : person?.customStatus
  if (!status?.expiresAt) return status ?? undefined
  void minutes.value
  return status.expiresAt > Date.now() ? status : undefined
}

/** A custom status in one line. */
export const lineOf = (status: CustomStatus | undefined): string =>
  status ? `${status.emoji ?? ''} ${status.text}`.trim() : ''
