import { networkOf, type PasswordHasher, refuseTooManyGuesses } from '@parley/accounts'
import { forbidden } from '@parley/contract'
import type { UserRow } from '@parley/database'
import type { Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import type { SignInOrigin, SignIns } from '../sessions/sign-in.ts'
import { logWrongPassword, recordWrongPassword } from './wrong-passwords.ts'

/** A password with which the caller confirms a request. */
interface ShownPassword {
  user: UserRow
  password: string
  origin: SignInOrigin
}

export type VerifyCurrentPassword = ReturnType<typeof createCurrentPassword>

/** Checks the current password of the caller. A wrong one counts like a wrong password of a sign-in. */
export const createCurrentPassword =
  ({ db }: Pick<Deps, 'db'>, passwords: PasswordHasher, { devices }: Pick<SignIns, 'devices'>) =>
  /** @throws ApiError 403 when it is wrong, 429 after too many wrong ones. */
  async (request: FastifyRequest, { user, password, origin }: ShownPassword): Promise<void> => {
    const guess = { email: user.email, device: devices.find(user, request), ...origin }
    await refuseTooManyGuesses(db, guess)
    const derivation = { purpose: 'sign-in', client: networkOf(origin.ip) } as const
    if (await passwords.verify(password, user.passwordHash, derivation)) return refuseTooManyGuesses(db, guess)
    const wrong = { userId: user.id, reason: 'wrong current password' }
    const reached = await db.transaction().execute((trx) => recordWrongPassword(trx, guess, wrong))
    logWrongPassword(request, { ...wrong, reached })
    throw forbidden('The current password is wrong')
  }
