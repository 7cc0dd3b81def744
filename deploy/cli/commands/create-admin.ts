import {
  appointAdmin,
  createUser,
  ensureFirstStart,
  findUserByEmail,
  hashPassword,
  readEmail,
  readUserName,
} from '@parley/accounts'
import { type Command, operator, Refused, required, say } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readNewPassword } from '../password.ts'

export const createAdmin: Command = {
  name: 'create-admin',
  summary: 'Adds an admin, or makes somebody who is there one',
  details: `While people sign in by password a new admin needs one: from the file, or typed, or from standard input when that is no
terminal. In other modes only the file gives one. Somebody who is there already keeps name and password. On a fresh database
they are the initial admin, in place of the configured one.`,
  options: [
    { name: 'email', value: 'ADDRESS', description: 'Whom' },
    { name: 'user-name', value: 'NAME', description: 'Display name; the part before the @ unless given' },
    { name: 'password-file', value: 'PATH', description: 'A file whose only line is the password' },
  ],
  async run({ options, config: load }) {
    const email = readEmail(required(options, 'email'))
    const wish = options['user-name'] as string | undefined
    const userName = wish === undefined ? undefined : readUserName(wish)
    const file = options['password-file'] as string | undefined
    const config = await load()

    await withDatabase(config, async ({ db }) => {
      const existing = await findUserByEmail(db, email)
      if (existing) {
        const user = await db.transaction().execute((trx) => appointAdmin(trx, existing.id, operator))
        if (!user) throw new Refused(`${email} was removed just now`)
        return say(
          existing.isAdmin ? `${email} is an admin already.` : `${email} was here already, and is an admin now.`,
        )
      }
      const needsPassword = file !== undefined || config.auth.authMode === 'password'
      const password = needsPassword ? await readNewPassword(file) : undefined
      const first = { email, ...(userName !== undefined && { userName }), ...(password !== undefined && { password }) }
      // Somebody has to be the first; otherwise General would never be made.
      if (await ensureFirstStart(db, { chat: { initialUser: first } }))
        return say(`${email} is here now, the first admin.`)

      const passwordHash = password === undefined ? null : await hashPassword(password)
      const wanted = { email, isAdmin: true, passwordHash, actorId: operator, ip: null, now: Date.now() }
      const user = await db
        .transaction()
        .execute((trx) => createUser(trx, { ...wanted, ...(userName !== undefined && { userName }) }))
      if (!user) throw new Refused(`somebody else has added ${email} just now: try again`)
      say(`${email} is here now, as ${user.userName}, an admin.`)
    })
  },
}
