import { networkOf, type PasswordHasher, refuseTooManyGuesses } from '@parley/accounts'
import { forbidden } from '@parley/contract'
import type { Deps } from '@parley/service'
import type { VerifyCurrentPassword } from '../second-factors/confirmations.ts'
import type { SignIns } from '../sessions/sign-in.ts'
import { logWrongPassword, recordWrongPassword } from './wrong-passwords.ts'

/** Checks current passwords. A wrong one counts like a wrong password of a sign-in. */
export const createPasswordVerifier =
  ({ db }: Pick<Deps, 'db'>, passwords: PasswordHasher, { devices }: Pick<SignIns, 'devices'>): VerifyCurrentPassword =>
  async (request, { user, password, origin }) => {
    const guess = { email: user.email, device: devices.find(user, request), ...origin }
    await refuseTooManyGuesses(db, guess)
    const derivation = { purpose: 'sign-in', client: networkOf(origin.ip) } as const
    if (await passwords.verify(password, user.passwordHash, derivation)) return refuseTooManyGuesses(db, guess)
    const wrong = { userId: user.id, reason: 'wrong current password' }
    const reached = await db.transaction().execute((trx) => recordWrongPassword(trx, guess, wrong))
    logWrongPassword(request, { ...wrong, reached })
    throw forbidden('The current password is wrong')
  }
