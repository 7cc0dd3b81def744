import { randomInt } from 'node:crypto'
import { everyone, invalid, sessionEnded } from '@parley/contract'
import {
  audit,
  isDuplicate,
  looksLike,
  nameSkeleton,
  type Reader,
  record,
  type Transaction,
  type UserRow,
  uuidv7,
} from '@parley/database'
import type { Caller } from '@parley/identity'
import { joinPublicChannels } from '@parley/membership'
import { startReadingAll } from '@parley/read-states'
import { sql } from 'kysely'
import { spellingsOf } from './emails.ts'
import { automaticNames, nameKey, readUserName, tidyName } from './names.ts'

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
 * Creates a person, tells everyone (NEW_USER) and the audit log, and adds them to General and the channels of `autoJoin`, which stay
 * locked until the transaction ends. Answers undefined when a live person has the address, also when another request created them
 * just now.
 */
export async function createUser(trx: Transaction, input: NewUser): Promise<UserRow | undefined> {
  const user = await insertUser(trx, input)
  if (!user) return undefined

  const { id, userName, email, isAdmin, createdAt, avatarVersion } = user
  await startReadingAll(trx, { userId: id, kinds: isAdmin ? ['public', 'private'] : ['public'] })
  await record(trx, {
    type: 'NEW_USER',
    payload: { id, userName, email, isAdmin, createdAt, avatarVersion },
    routing: isAdmin ? { ...everyone, reloadUsers: [id] } : everyone,
  })
  await audit(trx, {
    action: 'user.create',
    actorId: input.actorId ?? id,
    targetType: 'user',
    targetId: id,
    metadata: { userName, isAdmin },
    ip: input.ip,
  })
  const nameKeys = ['General', ...(input.autoJoin ?? [])].map(nameKey)
  await joinPublicChannels(trx, { userId: id, nameKeys, now: input.now })
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
  await sql`select pg_advisory_xact_lock(${lockOf(userName)})`.execute(trx)
  if ((await findAlike(trx, [userName])).some(({ id }) => id !== before.id)) {
    throw invalid('Somebody else has a name that looks the same', 'duplicate')
  }

  const user = await updateName(trx, before.id, userName)
  await record(trx, {
    type: 'UPDATE_USER',
    payload: { id: user.id, userName, isAdmin: user.isAdmin, avatarVersion: user.avatarVersion },
    routing: everyone,
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
  const { email, isAdmin = false, passwordHash = null, emailUnproven = false, now } = input
  if (await isTakenInOtherSpelling(trx, email)) return undefined
  for (;;) {
    const userName = await findFreeName(trx, input.userName ?? email.slice(0, email.indexOf('@')))
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
        passwordHash,
        emailUnproven,
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

const triedAtOnce = 32

/**
 * The lowest free one of the first numbers, then a random number in a growing range. With a thousand people called `info` the next one
 * costs a few statements more, not one for every 32 of them.
 */
async function findFreeName(db: Reader, base: string): Promise<string> {
  for (let most = triedAtOnce; ; most *= 16) {
    const from = most === triedAtOnce ? 1 : randomInt(triedAtOnce + 1, most)
    const names = automaticNames(base, from, triedAtOnce)
    const rows = await db
      .selectFrom('users')
      .select('userNameKey')
      .where('userNameKey', 'in', names.map(nameKey))
      .where('removedAt', 'is', null)
      .execute()
    const taken = new Set(rows.map(({ userNameKey }) => userNameKey))
    const alike = await findAlike(db, names)
    const free = names.filter(
      (name) => !taken.has(nameKey(name)) && !alike.some(({ userName }) => looksLike(userName, name)),
    )
    for (const name of free) if (await claimName(db, name)) return name
  }
}

/**
 * Reserves all names that look like this one until the transaction ends. Answers false when another transaction is taking such a name
 * or has taken it. Nobody waits, because the next number will do.
 */
async function claimName(db: Reader, name: string): Promise<boolean> {
  const { rows } = await sql<{ claimed: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(name)}) as claimed`.execute(db)
  return rows[0]!.claimed && (await findAlike(db, [name])).length === 0
}

/** The same number for all names that look alike. A collision with another name does no harm. */
const lockOf = (name: string) => sql`hashtextextended('parley name ' || ${nameSkeleton(name)}, 0)`

/**
 * Live people whose names differ from one of these only by look-alike letters of another script. Names without a skeleton were
 * written by the version before during an upgrade. Served by users_live_skeleton.
 */
async function findAlike(db: Reader, names: readonly string[]) {
  const live = db.selectFrom('users').select(['id', 'userName']).where('removedAt', 'is', null)
  const skeletons = new Set(names.map(nameSkeleton))
  const rows = await live
    .where('userNameSkeleton', 'in', [...skeletons])
    .unionAll(live.where('userNameSkeleton', 'is', null))
    .execute()
  return rows
    .filter(({ userName }) => skeletons.has(nameSkeleton(userName)))
    .filter(({ userName }) => names.some((name) => looksLike(userName, name)))
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
