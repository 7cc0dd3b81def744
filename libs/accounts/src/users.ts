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
import { automaticNames, nameKey, readUserName, tidyName } from './names.ts'

/** Who does something, from where, when. */
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
  /** The wished name; without it the part before the @. It gets a number when it is taken. */
  userName?: string
  isAdmin?: boolean
  /** As `hashPassword` answers it. */
  passwordHash?: string | null
  /** Whether the address is only what they say it is. */
  emailUnproven?: boolean
  /** Who adds them; without it they came by themselves. */
  actorId?: string
  /** `chat.autoJoin`: names of the public channels that they join beside General. */
  autoJoin?: readonly string[]
  ip: string | null
  now: number
}

/**
 * Creates a person, tells everyone (NEW_USER) and the audit log, and adds them to General and the channels of `autoJoin`, which stay
 * locked until the transaction ends. Answers undefined when a live person has the address,
 * also when that one came in just now by another request.
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

/** The live person with this address, as `readEmail` answers it. Served by the index users_live_email. */
export const findUserByEmail = (db: Reader, email: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('email', '=', email).where('removedAt', 'is', null).executeTakeFirst()

/** The person with this address, created now if there is none: for the sign-ins that need no invitation. */
export async function findOrCreateUser(trx: Transaction, input: NewUser): Promise<UserRow> {
  for (;;) {
    const user = (await findUserByEmail(trx, input.email)) ?? (await createUser(trx, input))
    if (user) return user
  }
}

/**
 * Gives the caller another display name and tells everyone (UPDATE_USER). The same name again changes nothing.
 * @throws ApiError 400 when the name is refused or taken.
 */
export async function renameUser(trx: Transaction, wish: string, { caller, ip }: Omit<Act, 'now'>): Promise<UserRow> {
  const before = await lockUser(trx, caller.userId)
  // Who has a name from before a rule keeps it.
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
 * @throws ApiError 401 when the person was removed meanwhile.
 */
export async function lockUser(trx: Transaction, userId: string): Promise<UserRow> {
  const user = await lockUserIfLive(trx, userId)
  if (!user) throw sessionEnded()
  return user
}

/** As `lockUser`, for those who have an answer of their own when there is no such person any more. */
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
  for (;;) {
    const userName = await findFreeName(trx, input.userName ?? email.slice(0, email.indexOf('@')))
    // Waits for whoever is about to take the same name or address, and inserts nothing when they did.
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

const triedAtOnce = 32

/**
 * The lowest of the first numbers that is free, then any number in a range that grows: whoever has a thousand people called
 * `info` needs a few statements more for the next one, not one for every 32 of them.
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
 * Keeps names that look like this one from others until the transaction ends. Answers false when somebody is just taking such a
 * name, or has taken it: nobody waits, because the next number will do.
 */
async function claimName(db: Reader, name: string): Promise<boolean> {
  const { rows } = await sql<{ claimed: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(name)}) as claimed`.execute(db)
  return rows[0]!.claimed && (await findAlike(db, [name])).length === 0
}

/** For all names that look alike the same number; a lock that others happen to share does no harm. */
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
