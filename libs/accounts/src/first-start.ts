import { ConfigError, type Fault } from '@parley/config'
import { ApiError, lengthOf, limits } from '@parley/contract'
import { type Database, lockByName, type Transaction, type UserRow, uuidv7 } from '@parley/database'
import { readEmail } from './emails.ts'
import { nameKey, readUserName } from './names.ts'
import { hashPassword } from './passwords.ts'
import { createUser } from './users.ts'

/** The configuration of the initial admin. Without a name, the admin gets the part of the address before the @ as their name. */
interface FirstStart {
  chat: { initialUser: { userName?: string; email: string; password?: string } }
  /** With it, the start is refused when nobody could sign in. */
  auth?: { authMode: string }
  email?: { host?: string }
}

/**
 * Creates the initial admin of `chat.initialUser` and the public channel General in an empty database. When there are
 * people, it changes nothing, with one exception: while nobody has a password, the initial admin gets the configured
 * one, so that a server that began in dev mode can switch to passwords. Any number of processes may call it at once.
 * Returns whether this call created the admin.
 * @throws ConfigError when name, address or password of the initial admin are refused, or when nobody could sign in because there is
 * no password.
 */
export async function ensureFirstStart(
  db: Database,
  { chat: { initialUser }, auth, email }: FirstStart,
  now = Date.now(),
): Promise<boolean> {
  const needsPassword = auth?.authMode === 'password' && !email?.host
  const isInUse = await hasPeople(db)
  if (isInUse && ((initialUser.password === undefined && !needsPassword) || (await hasPasswords(db)))) return false
  const faults = initialUserFaults(initialUser)
  if (initialUser.password === undefined && needsPassword) {
    const message =
      'is required: with auth.authMode password and no email.host nobody could sign in (or configure e-mail)'
    faults.push({ key: 'chat.initialUser.password', message })
  }
  if (faults.length > 0) throw new ConfigError(faults)
  const passwordHash = initialUser.password === undefined ? null : await hashPassword(initialUser.password)

  return db.transaction().execute(async (trx) => {
    await lockByName(trx, 'parley first start')
    if (await hasPeople(trx)) {
      await giveFirstPassword(trx, readEmail(initialUser.email), passwordHash)
      return false
    }
    const admin = await createUser(trx, {
      email: readEmail(initialUser.email),
      ...(initialUser.userName !== undefined && { userName: readUserName(initialUser.userName) }),
      isAdmin: true,
      passwordHash,
      ip: null,
      now,
    })
    if (!admin) return false
    await insertGeneral(trx, admin, now)
    return true
  })
}

/**
 * The faults for which the first start would refuse this initial admin. The rules are the same as for everybody. The
 * schema of the configuration checks only the form.
 */
export function initialUserFaults({ userName, email, password }: Partial<FirstStart['chat']['initialUser']>): Fault[] {
  const faults: Fault[] = []
  const check = (field: string, read: () => unknown) => {
    try {
      read()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      faults.push({ key: `chat.initialUser.${field}`, message: `is refused: ${error.message}` })
    }
  }
  if (userName !== undefined) check('userName', () => readUserName(userName))
  if (email !== undefined) check('email', () => readEmail(email))
  if (password !== undefined && lengthOf(password) > limits.password) {
    faults.push({ key: 'chat.initialUser.password', message: `is longer than ${limits.password} characters` })
  }
  return faults
}

const hasPeople = async (db: Database | Transaction) =>
  (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined

const hasPasswords = async (db: Database | Transaction) =>
  (await db.selectFrom('users').select('id').where('passwordHash', 'is not', null).limit(1).executeTakeFirst()) !==
  undefined

async function giveFirstPassword(trx: Transaction, email: string, passwordHash: string | null) {
  if (passwordHash === null || (await hasPasswords(trx))) return
  await trx
    .updateTable('users')
    .set({ passwordHash })
    .where('email', '=', email)
    .where('isAdmin', '=', true)
    .where('removedAt', 'is', null)
    .execute()
}

async function insertGeneral(trx: Transaction, admin: UserRow, now: number) {
  const id = uuidv7()
  const name = 'General'
  await trx
    .insertInto('channels')
    .values({ id, kind: 'public', name, nameKey: nameKey(name), createdBy: admin.id, createdAt: now })
    .execute()
  await trx.insertInto('channelMembers').values({ channelId: id, userId: admin.id, joinedAt: now }).execute()
}
