import {
  asciiOf,
  bindIdentity,
  createUser,
  domainOf,
  findUserByEmail,
  findUserByIdentity,
  type Identity,
  lockUser,
  markMadeAdmin,
  proveEmail,
  readEmail,
  setDirectoryProfile,
  syncAdminRole,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { ApiError } from '@parley/contract'
import type { Transaction, UserRow } from '@parley/database'
import { syncGroups } from '@parley/groups'
import type { Deps } from '@parley/service'
import type { SignInOrigin } from '../sessions/sign-in.ts'
import { SignInFailure } from './sign-in-failure.ts'
import { setSignInLanguage } from './sign-in-language.ts'

/** A person as the identity provider of their organisation describes them. */
export interface DirectoryPerson {
  identity: Identity
  /** Undefined unless the provider says that it is verified. */
  email: string | undefined
  userName: string | undefined
  displayName: string | undefined
  /** The language that the provider names, as it writes it. */
  language: string | undefined
  /** Undefined when the provider says nothing about groups. */
  groups: string[] | undefined
  roles: string[]
}

/** Which people of a provider may sign in, and which become admins, as the operator configured it. */
export interface DirectoryPolicy {
  adminRoles?: readonly string[] | undefined
  allowedDomains?: readonly string[] | undefined
}

interface Admission {
  person: DirectoryPerson
  policy: DirectoryPolicy
  config: Config
  origin: SignInOrigin
}

/**
 * Finds or creates the user for a person whom a provider identified. On their first sign-in, the address finds their account, or a new
 * account is created when no invitation is needed. From then on the account is bound to the provider's id of the person, and the address
 * does not matter.
 * @throws SignInFailure
 */
export async function admitFromDirectory(trx: Transaction, admission: Admission): Promise<UserRow> {
  const { person, policy, origin } = admission
  const { identity, displayName, language } = person
  const bound = await findUserByIdentity(trx, identity)
  const email = person.email === undefined ? undefined : readPersonEmail(person.email, { isBound: bound !== undefined })
  refuseOtherDomains(email, policy.allowedDomains)

  const isAdminThere = person.roles.some((role) => policy.adminRoles?.includes(role))
  if (bound && isAdminThere !== bound.madeAdmin) {
    const isChanged = await syncAdminRole(trx, bound.id, { isAdmin: isAdminThere }, origin)
    // Somebody whom an admin of this server made an admin stays one when the directory removes the role.
    if (isChanged || !isAdminThere) await markMadeAdmin(trx, identity, { madeAdmin: isAdminThere })
  }
  const user = bound ?? (await admitForTheFirstTime(trx, { ...admission, email, isAdminThere }))
  const locked = await setSignInLanguage(trx, await lockUser(trx, user.id), language)
  return displayName === undefined ? locked : setDirectoryProfile(trx, locked, { displayName, managedBy: 'sso' })
}

interface FirstAdmission extends Admission {
  email: string | undefined
  isAdminThere: boolean
}

async function admitForTheFirstTime(trx: Transaction, admission: FirstAdmission): Promise<UserRow> {
  const { person, email, isAdminThere, origin } = admission
  const { identity } = person
  if (email === undefined) throw new SignInFailure('no_verified_email')
  const { user, isNew } = await findOrCreate(trx, email, admission)
  // This locks the rows of all admins together, so it comes before the lock of the person.
  const isMadeAdmin = isAdminThere && (isNew || (await syncAdminRole(trx, user.id, { isAdmin: true }, origin)))
  await lockUser(trx, user.id)
  const isBound = await bindIdentity(trx, identity, { userId: user.id, now: origin.now })
  if (!isBound) throw new SignInFailure('already_linked', { userId: user.id })
  if (isMadeAdmin) await markMadeAdmin(trx, identity, { madeAdmin: true })
  await proveEmail(trx, user, origin)
  return user
}

async function findOrCreate(
  trx: Transaction,
  email: string,
  { person: { userName }, isAdminThere, config: { auth, chat }, origin: { ip, now } }: FirstAdmission,
): Promise<{ user: UserRow; isNew: boolean }> {
  for (;;) {
    const found = await findUserByEmail(trx, email)
    if (found) return { user: found, isNew: false }
    if (auth.isInviteRequired) throw new SignInFailure('not_invited')
    const input = { email, isAdmin: isAdminThere, autoJoin: chat.autoJoin, ip, now }
    const user = await createUser(trx, { ...input, ...(userName !== undefined && { userName }) })
    if (user) return { user, isNew: true }
  }
}

/**
 * Reads an address from a provider. An address that is not valid is refused and not corrected, because the corrected
 * address could belong to another person. @throws SignInFailure
 */
export function readProviderEmail(email: string): string {
  try {
    return readEmail(email)
  } catch (error) {
    if (error instanceof ApiError) throw new SignInFailure('unusable_email')
    throw error
  }
}

/**
 * Reads the address of a person of a directory. Only the first sign-in needs one. Later an address that is not valid
 * counts as missing. @throws SignInFailure
 */
function readPersonEmail(email: string, { isBound }: { isBound: boolean }): string | undefined {
  try {
    return readProviderEmail(email)
  } catch (error) {
    if (isBound && error instanceof SignInFailure) return undefined
    throw error
  }
}

function refuseOtherDomains(email: string | undefined, allowed: readonly string[] = []): void {
  if (allowed.length === 0) return
  if (email === undefined || !allowed.map(asciiOf).includes(domainOf(email)))
    throw new SignInFailure('domain_not_allowed')
}

/**
 * Makes a person who signs in a member of exactly the groups that their provider names. Without a claim for groups
 * nothing changes. This runs before the person gets tokens, in a transaction of its own: the first transaction locked
 * the channels of a new person, and groups must be locked before channels.
 */
export async function syncDirectoryGroups(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  userId: string,
  { groups }: Pick<DirectoryPerson, 'groups'>,
  { ip, now }: SignInOrigin,
): Promise<void> {
  if (groups === undefined) return
  const skipped = await db
    .transaction()
    .execute((trx) => syncGroups(trx, userId, groups, { source: 'sso', actorId: userId, ip, now }))
  if (skipped.length > 0) {
    logger.warn(
      { userId, groups: skipped },
      'groups of the directory were skipped: their names are taken or not allowed',
    )
  }
}
