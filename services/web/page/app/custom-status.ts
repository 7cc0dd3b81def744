import type { CustomStatus } from '@parley/contract'
import type { Workspace } from './workspace.ts'

/** The custom status of a person, if they are known and have one. */
export const customStatusOf = ({ myId, me, user }: Workspace, id: string): CustomStatus | null | undefined =>
  (id === myId ? me.value : user(id))?.customStatus

/** A custom status in one line. */
export const lineOf = (status: CustomStatus | null | undefined): string =>
  status ? `${status.emoji ?? ''} ${status.text}`.trim() : ''
