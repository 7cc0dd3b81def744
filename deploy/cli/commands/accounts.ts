import {
  appointAdmin,
  createUser,
  ensureFirstStart,
  findUserByEmail,
  hashPassword,
  readEmail,
  readKnownEmail,
  readUserName,
  setPassword,
} from '@parley/accounts'
import { audit } from '@parley/database'
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
      if (existing) {
        const user = await db.transaction().execute((trx) => appointAdmin(trx, existing.id, operator))
        if (!user) throw new Refused(`${email} was removed just now`)
        return say(
          existing.isAdmin ? `${email} is an admin already.` : `${email} had an account already, and is an admin now.`,
        )
      }
      const needsPassword = file !== undefined || config.auth.authMode === 'password'
      const password = needsPassword ? await readNewPassword(file) : undefined
      const first = { email, ...(userName !== undefined && { userName }), ...(password !== undefined && { password }) }
      // On an empty server this creates the first admin and the channel General.
      if (await ensureFirstStart(db, { chat: { initialUser: first } })) return say(`Created ${email}, the first admin.`)

      const passwordHash = password === undefined ? null : await hashPassword(password)
      const { autoJoin } = config.chat
      const wanted = { email, isAdmin: true, passwordHash, autoJoin, actorId: operator, ip: null, now: Date.now() }
      const user = await db
        .transaction()
        .execute((trx) => createUser(trx, { ...wanted, ...(userName !== undefined && { userName }) }))
      if (!user) throw new Refused(`somebody else has added ${email} just now: try again`)
      say(`Created the admin ${email}, with the name ${user.userName}.`)
    })
  },
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
