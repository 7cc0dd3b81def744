import { audienceOfPerson, kindsReadWithoutJoining } from '@parley/access'
import { invalid, sessionEnded } from '@parley/contract'
import {
  audit,
  type DirectoryKind,
  isDuplicate,
  lockByName,
  nameSkeleton,
  type Reader,
  record,
  type Transaction,
  type UserRow,
  userView,
  uuidv7,
} from '@parley/database'
import type { Caller } from '@parley/identity'
import { startReadingAll } from '@parley/read-states'
import { joinDefaultChannels } from './auto-join.ts'
import { spellingsOf } from './emails.ts'
import { nameKey, readUserName, tidyName } from './names.ts'
import { claimFreeName, claimName } from './taken-names.ts'
import { recordUserUpdate } from './user-updates.ts'

/** The caller of a request, the address and the time. */
export interface RequestContext {
  caller: Caller
  /** Address of the client. */
  ip: string | null
  /** Epoch milliseconds. */
  now: number
}

export interface NewUser {
  /** The result of `readEmail`. */
  email: string
  /** The preferred name; the part of the address before the @ unless given. A number is added when it is taken. */
  userName?: string
  isAdmin?: boolean
  /** Set for a guest. New guests join no channel. */
  guest?: { expiresAt: number | null } | undefined
  displayName?: string | null
  title?: string | null
  /** The directory that provides display name and title. */
  managedBy?: DirectoryKind
  /** The result of `hashPassword`. */
  passwordHash?: string | null
  /** Whether the person has not proven yet that the address is theirs. */
  emailUnproven?: boolean
  /** Who adds them. Absent when they registered themselves. */
  actorId?: string
  /** `chat.autoJoin`: names of the public channels that they join beside General. */
  autoJoin?: readonly string[]
  ip: string | null
  now: number
}

/**
 * Creates a person, and records NEW_USER and an audit entry. Adds them to General and the channels of `autoJoin`,
 * unless they are a guest. These channels stay locked until the transaction ends. Returns undefined when a live person
 * has the address, also when a concurrent request has just created them.
 */
export async function createUser(trx: Transaction, input: NewUser): Promise<UserRow | undefined> {
  const user = await insertUser(trx, input)
  if (!user) return undefined

  const { id, userName, isAdmin, role } = user
  await startReadingAll(trx, { userId: id, kinds: kindsReadWithoutJoining(role) })
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
 * The live person with this address, which is a result of `readEmail`, in whichever spelling it is stored. An exact
 * match wins, because older databases may have two people with one spelling each. Served by the index users_live_email.
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

/** Finds the person with this address, or creates them. For sign-ins that need no invitation. */
export async function findOrCreateUser(trx: Transaction, input: NewUser): Promise<UserRow> {
  for (;;) {
    const user = (await findUserByEmail(trx, input.email)) ?? (await createUser(trx, input))
    if (user) return user
  }
}

/**
 * Changes the caller's user name and records UPDATE_USER. Idempotent.
 * @throws ApiError 400 when the name is refused or taken.
 */
export async function renameUser(
  trx: Transaction,
  newName: string,
  { caller, ip }: Omit<RequestContext, 'now'>,
): Promise<UserRow> {
  const before = await lockUser(trx, caller.userId)
  // A name that is older than a rule may be kept.
  if (before.userName === tidyName(newName)) return before
  const userName = readUserName(newName)
  await claimName(trx, userName, before.id)

  const user = await updateName(trx, before.id, userName)
  await recordUserUpdate(trx, user)
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
 * Locks the row of a live person until the transaction ends. Rows of people must be locked before channels.
 * @throws ApiError 401 when the person was removed in the meantime.
 */
export async function lockUser(trx: Transaction, userId: string): Promise<UserRow> {
  const user = await lockUserIfLive(trx, userId)
  if (!user) throw sessionEnded()
  return user
}

/** Like `lockUser`, but returns undefined when the person was removed. */
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
    // The insert waits for a transaction that inserts the same name or address, and inserts nothing if that one
    // commits.
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
 * Whether a live person has the address in another spelling. The unique index cannot detect that, so concurrent
 * requests with different spellings wait for each other here.
 */
async function isTakenInOtherSpelling(trx: Transaction, email: string): Promise<boolean> {
  const spellings = spellingsOf(email)
  if (spellings.length === 1) return false
  await lockByName(trx, `parley email ${spellings.toSorted()[0]}`)
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
