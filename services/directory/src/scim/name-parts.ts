import { audit, type Transaction, type UserRow } from '@parley/database'
import type { ScimContext } from './scim-clients.ts'
import type { WantedUser } from './user-resource.ts'

type NameParts = Pick<UserRow, 'givenName' | 'familyName'>

/**
 * The display name that a person gets; undefined when it stays. Without one of its own it is made of the parts of the name, and follows
 * their changes.
 */
export function wantedDisplayName(before: UserRow, wanted: WantedUser): string | null | undefined {
  const { displayName, givenName, familyName } = wanted
  const hasNoParts = givenName === undefined && familyName === undefined
  if (typeof displayName === 'string' || hasNoParts) return displayName
  const isMadeOfParts = before.displayName === null || before.displayName === joined(before)
  return displayName === null || isMadeOfParts ? joined(partsAfter(before, wanted)) : undefined
}

/** Stores the wanted parts of the name of a locked person, and audits the change. */
export async function changeNameParts(
  trx: Transaction,
  before: UserRow,
  wanted: WantedUser,
  { actorId, ip }: ScimContext,
): Promise<void> {
  const { id, givenName, familyName } = before
  const after = partsAfter(before, wanted)
  if (after.givenName === givenName && after.familyName === familyName) return
  await trx.updateTable('users').set(after).where('id', '=', id).execute()
  const metadata = { from: { givenName, familyName }, to: after }
  await audit(trx, { action: 'user.profile.update', actorId, targetType: 'user', targetId: id, metadata, ip })
}

const partsAfter = (before: UserRow, { givenName, familyName }: WantedUser): NameParts => ({
  givenName: givenName === undefined ? before.givenName : givenName,
  familyName: familyName === undefined ? before.familyName : familyName,
})

/** The full name, as `updateProfile` stores it for ordinary names; null without parts. */
const joined = ({ givenName, familyName }: NameParts): string | null =>
  [givenName, familyName].flatMap((part) => part?.trim() || []).join(' ') || null
