import { findUserByEmail, hashPassword, readKnownEmail, setPassword } from '@parley/accounts'
import { audit } from '@parley/database'
import { type Command, operator, Refused, required, say } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readNewPassword } from '../password.ts'

export const resetPassword: Command = {
  name: 'reset-password',
  summary: 'Gives somebody a new password and ends their sessions',
  details: 'The password comes from the file, or is typed, or from standard input when that is no terminal.',
  options: [
    { name: 'email', value: 'ADDRESS', description: 'Whose' },
    { name: 'password-file', value: 'PATH', description: 'A file whose only line is the password' },
  ],
  async run({ options, config: load }) {
    const email = readKnownEmail(required(options, 'email'))
    const config = await load()
    await withDatabase(config, async ({ db }) => {
      const user = await findUserByEmail(db, email)
      if (!user) throw new Refused(`there is nobody with the address ${email}`)
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
