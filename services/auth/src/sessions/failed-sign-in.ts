import { auditFailedSignIn, findUserByEmail, type SignInMethod } from '@parley/accounts'
import type { Database } from '@parley/database'
import { logFailedSignIn } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import type { SignInOrigin } from './sign-in.ts'

interface Failure {
  method: SignInMethod
  /** For the log. */
  reason: string
  email: string
  origin: SignInOrigin
}

/** Writes down that somebody did not come in: in the audit log within its bounds, and in the log. */
export async function failSignIn(
  db: Database,
  request: FastifyRequest,
  { method, reason, email, origin: { ip, now } }: Failure,
): Promise<void> {
  const userId = (await findUserByEmail(db, email))?.id
  await db.transaction().execute((trx) => auditFailedSignIn(trx, { method, subject: email, userId, ip, now }))
  logFailedSignIn(request, { method, reason, userId })
}
