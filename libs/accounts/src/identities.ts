import type { DirectoryKind, Identities, Reader, Transaction, UserRow } from '@parley/database'
import { updateProfile } from './profile.ts'
import { changeRole, isLastAdmin, lockAdminsAnd } from './roles.ts'

/** A person's subject at the provider of their organisation. */
export type Identity = Pick<Identities, 'protocol' | 'issuer' | 'subject'>

interface BoundUser extends UserRow {
  /** Whether a role at the provider made them an admin. */
  madeAdmin: boolean
}

/** The live person who is bound to this identity. Served by the primary key. */
export const findUserByIdentity = (db: Reader, identity: Identity): Promise<BoundUser | undefined> =>
  db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.userId')
    .selectAll('users')
    .select('identities.madeAdmin')
    .where('protocol', '=', identity.protocol)
    .where('issuer', '=', identity.issuer)
    .where('subject', '=', identity.subject)
    .where('users.removedAt', 'is', null)
    .executeTakeFirst()

/**
 * Binds a person to an identity for good. The identity of a removed person can be bound again. Returns false when the
 * identity belongs to another live person, or the person to another subject of the same issuer: when an organisation
 * gives an e-mail address to somebody else, the new owner must not get the account of the former one. The caller holds
 * the row lock of the person.
 */
export async function bindIdentity(
  trx: Transaction,
  identity: Identity,
  { userId, now }: { userId: string; now: number },
): Promise<boolean> {
  const { protocol, issuer } = identity
  const known = await trx
    .selectFrom('identities')
    .select('subject')
    .where('userId', '=', userId)
    .where('protocol', '=', protocol)
    .where('issuer', '=', issuer)
    .execute()
  // A concurrent request of the same first sign-in may have bound them already.
  if (known.length > 0) return known.some(({ subject }) => subject === identity.subject)
  const bound = await trx
    .insertInto('identities')
    .values({ ...identity, userId, createdAt: now })
    .onConflict((conflict) =>
      conflict
        .columns(['protocol', 'issuer', 'subject'])
        .doUpdateSet({ userId, createdAt: now, madeAdmin: false })
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('users')
              .select('users.id')
              .whereRef('users.id', '=', 'identities.userId')
              .where('users.removedAt', 'is not', null),
          ),
        ),
    )
    .returning('userId')
    .executeTakeFirst()
  return bound !== undefined
}

/** Remembers whether a role at the provider made somebody an admin. */
export async function markMadeAdmin(
  trx: Transaction,
  identity: Identity,
  { madeAdmin }: { madeAdmin: boolean },
): Promise<void> {
  await trx
    .updateTable('identities')
    .set({ madeAdmin })
    .where('protocol', '=', identity.protocol)
    .where('issuer', '=', identity.issuer)
    .where('subject', '=', identity.subject)
    .execute()
}

/**
 * Sets the display name of a person to the one in their directory, and records UPDATE_USER if it changed. The person
 * cannot change it from then on.
 */
export const setDirectoryProfile = (
  trx: Transaction,
  { id }: UserRow,
  { displayName, managedBy }: { displayName: string; managedBy: DirectoryKind },
): Promise<UserRow> => updateProfile(trx, id, { displayName }, { directory: managedBy, actorId: id, ip: null })

/**
 * Makes a person an admin or a member, as their directory says. Guests stay guests, and the last admin stays an admin.
 * Returns whether the role changed. The caller must hold no row lock of a person yet, except of one who was created in
 * this transaction.
 */
export async function syncAdminRole(
  trx: Transaction,
  userId: string,
  { isAdmin }: { isAdmin: boolean },
  { ip }: { ip: string | null },
): Promise<boolean> {
  const people = await lockAdminsAnd(trx, userId)
  const user = people.get(userId)
  if (!user || user.isAdmin === isAdmin || user.role === 'guest') return false
  if (user.isAdmin && isLastAdmin(people, userId)) return false
  await changeRole(trx, user, { role: isAdmin ? 'admin' : 'member', guestExpiresAt: null }, { actorId: userId, ip })
  return true
}
