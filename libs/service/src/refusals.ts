import { ApiError, invalid, notFound, tooLarge, unavailable } from '@parley/contract'
import { isDatabaseAway } from '@parley/database'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isClientLeft } from './client-left.ts'
import { ambiguityOf } from './http-server.ts'
import { dropRest } from './refused-body.ts'

/** Renders and logs everything that handlers and Fastify throw, once: `{error, code, requestId}`. */
export function renderRefusals(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => sendRefusal(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendRefusal(notFound('address'), request, reply))
}

/** Answers one error. Also serves Fastify's `frameworkErrors`, which arise before routing. */
export function sendRefusal(error: Error, request: FastifyRequest, reply: FastifyReply) {
  const refusal = asRefusal(error)
  if (isClientLeft(error, request)) {
    request.log.debug({ requestId: request.id, route: request.routeOptions?.url }, 'the client left before its reply')
  } else if (refusal.status >= 500) {
    const level = refusal.status === 503 ? 'warn' : 'error'
    request.log[level]({ err: error, requestId: request.id, route: request.routeOptions?.url }, 'request failed')
  } else {
    request.log.debug(
      { code: refusal.code, requestId: request.id, route: request.routeOptions?.url },
      'request refused',
    )
  }
  if (refusal.retryAfter !== undefined) reply.header('retry-after', Math.ceil(refusal.retryAfter))
  // RFC 9110, 11.6.1: a 401 names how to authenticate.
  if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
  // Fastify closes the connection after every body that it refuses, in case more of the body follows.
  const mayStayOpen = request.raw.complete || refusal.status === 413
  if (mayStayOpen && ambiguityOf(request.raw) === undefined) reply.removeHeader('connection')
  dropRest(request.raw)
  return reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ error: refusal.message, code: refusal.code, requestId: request.id })
}

/** Turns any error into the refusal that callers see. What is not known is a 500 that tells nothing. */
export function asRefusal(error: Error): ApiError {
  if (error instanceof ApiError) return error
  if (isDatabaseAway(error)) return unavailable()
  const { code, validation, statusCode } = error as Partial<FastifyError>
  if (validation || error instanceof SyntaxError) return invalid(error.message)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge()
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return invalid('Please send the body as JSON, with the header Content-Type: application/json')
  }
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return invalid('The body is not valid JSON')
  if (code === 'FST_ERR_BAD_URL') return invalid('The address is not a valid URL')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return invalid(error.message)
  // PostgreSQL's class 22: a value that no column can hold, which validation should have refused.
  if (code?.length === 5 && code.startsWith('22')) return invalid('The request contains a value that cannot be stored')
  return new ApiError(500, 'internal_error', 'Something went wrong on the server')
}
