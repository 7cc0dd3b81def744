import { randomInt } from 'node:crypto'
import { everyone, invalid, unauthorized } from '@parley/contract'
import {
  anyOf,
  audit,
  isDuplicate,
  isRowId,
  type Reader,
  record,
  startReadingAll,
  type Transaction,
  type UserRow,
  uuidv7,
} from '@parley/database'
import type { Caller } from '@parley/identity'
import { automaticNames, nameKey, readUserName } from './names.ts'

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
  ip: string | null
  now: number
}

/**
 * Creates a person, tells everyone (NEW_USER) and the audit log. Answers undefined when a live person has the address,
 * also when that one came in just now by another request.
 */
export async function createUser(trx: Transaction, input: NewUser): Promise<UserRow | undefined> {
  const user = await insertUser(trx, input)
  if (!user) return undefined

  const { id, userName, email, isAdmin, createdAt } = user
  await startReadingAll(trx, { userId: id, kinds: isAdmin ? ['public', 'private'] : ['public'] })
  await record(trx, {
    type: 'NEW_USER',
    payload: { id, userName, email, isAdmin, createdAt },
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
  const userName = readUserName(wish)
  const before = await lockUser(trx, caller.userId)
  if (before.userName === userName) return before

  const user = await updateName(trx, before.id, userName)
  await record(trx, {
    type: 'UPDATE_USER',
    payload: { id: user.id, userName, isAdmin: user.isAdmin },
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
  if (!user) throw unauthorized('The session has ended, please sign in again')
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

/**
 * Keeps these people from being removed until the transaction ends, and answers the ids of those who are live; ids of another
 * form are nobody's. Taken before any channel's lock, as everywhere.
 */
export async function lockLivePeople(trx: Transaction, userIds: readonly string[]): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf(userIds.filter(isRowId)))
    .where('removedAt', 'is', null)
    .orderBy('id')
    .forShare()
    .execute()
  return new Set(rows.map(({ id }) => id))
}

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
    const free = names.find((name) => !taken.has(nameKey(name)))
    if (free) return free
  }
}

async function updateName(trx: Transaction, userId: string, userName: string): Promise<UserRow> {
  try {
    return await trx
      .updateTable('users')
      .set({ userName, userNameKey: nameKey(userName) })
      .where('id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (isDuplicate(error, 'users_live_name')) throw invalid('Somebody else has this name', 'duplicate')
    throw error
  }
}
