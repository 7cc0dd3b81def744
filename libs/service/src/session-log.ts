import type { FastifyRequest } from 'fastify'

type Request = Pick<FastifyRequest, 'id' | 'log'>

/**
 * What operators search the log for: who came in, who did not, whose session ended. Each line has the id of its request and no
 * address; the audit log has the client's address, and so has the access log where it is switched on.
 */
export const logSignIn = (
  request: Request,
  { userId, sessionId, method, replaced }: { userId: string; sessionId: string; method: string; replaced: string[] },
) => {
  request.log.info({ requestId: request.id, userId, sessionId, method }, 'signed in')
  if (replaced.length > 0) logSessionEnd(request, { userId, sessionIds: replaced, reason: 'replaced' })
}

/** `userId` is undefined when there is no such account. */
export const logFailedSignIn = (
  request: Request,
  facts: { method: string; reason: string; userId?: string | undefined; err?: unknown },
) => request.log.info({ requestId: request.id, ...facts }, 'a sign-in failed')

/** So many wrong passwords that no further ones are tried for a while. */
export const logSignInLimit = (request: Request, facts: { scope: string; userId?: string | undefined }) =>
  request.log.warn({ requestId: request.id, ...facts }, 'a limit of wrong passwords was reached')

/** Without `sessionIds` it was all sessions of the person, or all but the one that asked. */
export const logSessionEnd = (request: Request, facts: { userId?: string; sessionIds?: string[]; reason: string }) =>
  request.log.info({ requestId: request.id, ...facts }, 'sessions ended')
