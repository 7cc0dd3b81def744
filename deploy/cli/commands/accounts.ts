import {
  appointAdmin,
  createUser,
  ensureFirstStart,
  findUserByEmail,
  hashPassword,
  type NewUser,
  readEmail,
  readKnownEmail,
  readUserName,
  setPassword,
} from '@parley/accounts'
import { audit, type Database, type UserRow } from '@parley/database'
import { type Command, operator, Refused, required, say, withDatabase } from '../command.ts'
import { readNewPassword } from '../passwords.ts'

export const createAdmin: Command = {
  name: 'create-admin',
  summary: 'Adds an admin, or makes an existing user an admin',
  details: `When users sign in by password, a new admin needs one: from the file, or typed, or from standard input when that is not
a terminal. In other sign-in modes only the file sets a password. An existing user keeps name and password. On a fresh database the
new admin is the initial admin, in place of the configured one.`,
  options: [
    { name: 'email', value: 'ADDRESS', description: 'Email address of the admin' },
    { name: 'user-name', value: 'NAME', description: 'Display name; by default the part before the @' },
    { name: 'password-file', value: 'PATH', description: 'A file whose only line is the password' },
  ],
  async run({ options, config: load }) {
    const email = readEmail(required(options, 'email'))
    const givenName = options['user-name'] as string | undefined
    const userName = givenName === undefined ? undefined : readUserName(givenName)
    const file = options['password-file'] as string | undefined
    const config = await load()

    await withDatabase(config, async ({ db }) => {
      const existing = await findUserByEmail(db, email)
      if (existing) return say(await appoint(db, existing))
      const needsPassword = file !== undefined || config.auth.authMode === 'password'
      const password = needsPassword ? await readNewPassword(file) : undefined
      const { autoJoin } = config.chat
      say(await addAdmin(db, { email, autoJoin, ...(userName && { userName }), ...(password && { password }) }))
    })
  },
}

/** Makes somebody an admin who has an account already. Returns what was done, in words. */
async function appoint(db: Database, { id, email, isAdmin }: UserRow): Promise<string> {
  const user = await db.transaction().execute((trx) => appointAdmin(trx, id, operator))
  if (!user) throw new Refused(`${email} was removed just now`)
  return isAdmin ? `${email} is an admin already.` : `${email} had an account already, and is an admin now.`
}

interface NewAdmin extends Pick<NewUser, 'email' | 'userName' | 'autoJoin'> {
  password?: string
}

/** Creates an admin. Returns what was done, in words. */
async function addAdmin(db: Database, { password, ...admin }: NewAdmin): Promise<string> {
  const { email } = admin
  // On an empty server this creates the first admin and the channel General.
  const initialUser = { ...admin, ...(password !== undefined && { password }) }
  if (await ensureFirstStart(db, { chat: { initialUser } })) return `Created ${email}, the first admin.`

  const passwordHash = password === undefined ? null : await hashPassword(password)
  const input = { ...admin, isAdmin: true, passwordHash, actorId: operator, ip: null, now: Date.now() }
  const user = await db.transaction().execute((trx) => createUser(trx, input))
  if (!user) throw new Refused(`somebody else has added ${email} just now: try again`)
  return `Created the admin ${email}, with the name ${user.userName}.`
}

export const resetPassword: Command = {
  name: 'reset-password',
  summary: 'Sets a new password for a user and ends their sessions',
  details: 'The password comes from the file, or is typed, or from standard input when that is not a terminal.',
  options: [
    { name: 'email', value: 'ADDRESS', description: 'Email address of the user' },
    { name: 'password-file', value: 'PATH', description: 'A file whose only line is the password' },
  ],
  async run({ options, config: load }) {
    const email = readKnownEmail(required(options, 'email'))
    const config = await load()
    await withDatabase(config, async ({ db }) => {
      const user = await findUserByEmail(db, email)
      if (!user) throw new Refused(`no user has the address ${email}`)
      const passwordHash = await hashPassword(await readNewPassword(options['password-file'] as string | undefined))
      await db.transaction().execute(async (trx) => {
        const change = { userId: user.id, passwordHash, actorId: operator, ip: null, now: Date.now() }
        if (!(await setPassword(trx, change))) {
          throw new Refused(`${email} was removed just now`)
        }
        await audit(trx, {
          action: 'user.password.reset',
          actorId: operator,
          targetType: 'user',
          targetId: user.id,
        })
      })
      say(`${email} has a new password; all their sessions have ended.`)
    })
  },
}
