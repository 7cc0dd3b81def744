import { audienceOfPerson } from '@parley/access'
import { invalid, sessionEnded } from '@parley/contract'
import {
  audit,
  type DirectoryKind,
  isDuplicate,
  nameSkeleton,
  type Reader,
  record,
  type Transaction,
  type UserRow,
  userUpdatePayload,
  userView,
  uuidv7,
} from '@parley/database'
import type { Caller } from '@parley/identity'
import { startReadingAll } from '@parley/read-states'
import { sql } from 'kysely'
import { joinDefaultChannels } from './auto-join.ts'
import { spellingsOf } from './emails.ts'
import { nameKey, readUserName, tidyName } from './names.ts'
import { claimFreeName, claimName } from './taken-names.ts'

/** Who acts, from which address, at what time. */
export interface Act {
  caller: Caller
  /** Address of the client. */
  ip: string | null
  /** Epoch milliseconds. */
  now: number
}

export interface NewUser {
  /** As `readEmail` answers it. */
  email: string
  /** The preferred name; the part before the @ when absent. A number is added when it is taken. */
  userName?: string
  isAdmin?: boolean
  /** A guest joins no channel by being created. */
  guest?: { expiresAt: number | null } | undefined
  displayName?: string | null
  title?: string | null
  /** The directory that provides them. */
  managedBy?: DirectoryKind
  /** As `hashPassword` answers it. */
  passwordHash?: string | null
  /** Whether nobody has proven yet that the address is theirs. */
  emailUnproven?: boolean
  /** Who adds them; absent when they registered themselves. */
  actorId?: string
  /** `chat.autoJoin`: names of the public channels that they join beside General. */
  autoJoin?: readonly string[]
  ip: string | null
  now: number
}

/**
 * Creates a person, tells everyone (NEW_USER) and the audit log, and adds them, unless they are a guest, to General and
 * the channels of `autoJoin`, which stay locked until the transaction ends. Answers undefined when a live person has
 * the address, also when another request created them just now.
 */
export async function createUser(trx: Transaction, input: NewUser): Promise<UserRow | undefined> {
  const user = await insertUser(trx, input)
  if (!user) return undefined

  const { id, userName, isAdmin, role } = user
  if (role !== 'guest') await startReadingAll(trx, { userId: id, kinds: isAdmin ? ['public', 'private'] : ['public'] })
  const audience = await audienceOfPerson(trx, id)
  await record(trx, {
    type: 'NEW_USER',
    payload: userView(user),
    routing: isAdmin ? { ...audience, reloadUsers: [id] } : audience,
  })
  await audit(trx, {
    action: 'user.create',
    actorId: input.actorId ?? id,
    targetType: 'user',
    targetId: id,
    metadata: { userName, isAdmin, role },
    ip: input.ip,
  })
  if (role === 'guest') return user
  await joinDefaultChannels(trx, id, input)
  return user
}

/**
 * The live person with this address, as `readEmail` answers it, whichever spelling is stored. An exact match comes first: older
 * databases may have two people with one spelling each. Served by the index users_live_email.
 */
export async function findUserByEmail(db: Reader, email: string): Promise<UserRow | undefined> {
  const spellings = spellingsOf(email)
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('email', 'in', spellings)
    .where('removedAt', 'is', null)
    .execute()
  return rows.find((row) => row.email === email) ?? rows[0]
}

/** The person with this address, created now if there is none: for the sign-ins that need no invitation. */
export async function findOrCreateUser(trx: Transaction, input: NewUser): Promise<UserRow> {
  for (;;) {
    const user = (await findUserByEmail(trx, input.email)) ?? (await createUser(trx, input))
    if (user) return user
  }
}

/**
 * Changes the caller's display name and tells everyone (UPDATE_USER). Setting the present name changes nothing.
 * @throws ApiError 400 when the name is refused or taken.
 */
export async function renameUser(trx: Transaction, wish: string, { caller, ip }: Omit<Act, 'now'>): Promise<UserRow> {
  const before = await lockUser(trx, caller.userId)
  // A name from before a rule may be kept.
  if (before.userName === tidyName(wish)) return before
  const userName = readUserName(wish)
  await claimName(trx, userName, before.id)

  const user = await updateName(trx, before.id, userName)
  await record(trx, {
    type: 'UPDATE_USER',
    payload: userUpdatePayload(user),
    routing: await audienceOfPerson(trx, user.id),
  })
  await audit(trx, {
    action: 'user.name.update',
    actorId: user.id,
    targetType: 'user',
    targetId: user.id,
    metadata: { from: before.userName, to: userName },
    ip,
  })
  return user
}

/**
 * Takes the row lock of a live person until the transaction ends. People come before channels in the order of locks.
 * @throws ApiError 401 when the person was removed in the meantime.
 */
export async function lockUser(trx: Transaction, userId: string): Promise<UserRow> {
  const user = await lockUserIfLive(trx, userId)
  if (!user) throw sessionEnded()
  return user
}

/** As `lockUser`, but answers undefined when there is no such person any more. */
export const lockUserIfLive = (trx: Transaction, userId: string): Promise<UserRow | undefined> =>
  trx
    .selectFrom('users')
    .selectAll()
    .where('id', '=', userId)
    .where('removedAt', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()

async function insertUser(trx: Transaction, input: NewUser): Promise<UserRow | undefined> {
  const { email, isAdmin = false, guest, passwordHash = null, emailUnproven = false, now } = input
  const { displayName = null, title = null, managedBy = null } = input
  if (await isTakenInOtherSpelling(trx, email)) return undefined
  for (;;) {
    const userName = await claimFreeName(trx, input.userName ?? email.slice(0, email.indexOf('@')))
    // Waits for a transaction that is inserting the same name or address, and inserts nothing when it commits.
    const user = await trx
      .insertInto('users')
      .values({
        id: uuidv7(),
        userName,
        userNameKey: nameKey(userName),
        userNameSkeleton: nameSkeleton(userName),
        email,
        isAdmin,
        isGuest: guest !== undefined,
        guestExpiresAt: guest?.expiresAt ?? null,
        displayName,
        title,
        managedBy,
        passwordHash,
        emailUnproven,
        autoJoined: true,
        createdAt: now,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst()
    if (user) return user
    if (await findUserByEmail(trx, email)) return undefined
  }
}

/**
 * Whether a live person has another spelling of the address. The unique index does not see that, so concurrent requests with different
 * spellings wait for each other here.
 */
async function isTakenInOtherSpelling(trx: Transaction, email: string): Promise<boolean> {
  const spellings = spellingsOf(email)
  if (spellings.length === 1) return false
  const lock = sql`hashtextextended('parley email ' || ${spellings.toSorted()[0]}, 0)`
  await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
  return (await findUserByEmail(trx, email)) !== undefined
}

async function updateName(trx: Transaction, userId: string, userName: string): Promise<UserRow> {
  try {
    return await trx
      .updateTable('users')
      .set({ userName, userNameKey: nameKey(userName), userNameSkeleton: nameSkeleton(userName) })
      .where('id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (isDuplicate(error, 'users_live_name')) throw invalid('This name is already in use', 'duplicate')
    throw error
  }
}
