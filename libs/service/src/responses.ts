import type { IncomingMessage } from 'node:http'
import { ApiError, invalid, notFound, tooLarge, unavailable } from '@parley/contract'
import { isDatabaseUnavailable } from '@parley/database'
import { createOutageLog, type Logger, type OutageLog } from '@parley/telemetry'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { ambiguityOf } from './http-server.ts'
import { ProtocolRefusal, parleyForm, type RefusalForm, UnreadableBody } from './refusal-forms.ts'

/**
 * Keeps responses out of caches, because almost every response is for one caller, and people share browsers and proxies. A
 * route whose response may be cached sets `Cache-Control` itself. Files and images do, with an ETag.
 */
export function preventCaching(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    done(null, payload)
  })
}

/** Adds a name to the header `Vary`, and keeps the names that CORS or the route have set. */
export function addVary(reply: FastifyReply, name: string): void {
  const names = [reply.getHeader('vary') ?? []].flat().join(', ')
  const isListed = names.toLowerCase().split(/, */).includes(name.toLowerCase())
  if (!isListed) reply.header('vary', names ? `${names}, ${name}` : name)
}

/** Sends JSON text without the serializer. The caller must ensure that it has exactly the fields of the schema. */
export function sendJsonText(reply: FastifyReply, text: string): never {
  return reply.type('application/json; charset=utf-8').send(text) as never
}

const maxDrainMs = 15_000
const maxDrainBytes = 64 * 1024 * 1024

declare module 'fastify' {
  interface FastifyInstance {
    unavailability: OutageLog
  }
}

/** Responds with `{error, code, requestId}` to every error of handlers and Fastify, and logs it. */
export function renderRefusals(app: FastifyInstance): void {
  const first = 'request failed'
  const further = 'further requests failed for the same reason'
  app.decorate('unavailability', createOutageLog(app.log as Logger, { first, further }))
  app.setErrorHandler((error: FastifyError, request, reply) => sendRefusal(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendRefusal(notFound('address'), request, reply))
}

/**
 * Logs a request that failed or was refused. Of requests that get 503, all of an outage have the same cause, so most of them are only
 * counted. A refusal and a client that left are only logged for debugging. A 501 is a refusal too: the server never offers what was
 * asked for.
 */
function logRefusal(request: FastifyRequest, error: Error, { status, code }: ApiError | ProtocolRefusal) {
  const { id: requestId, routeOptions } = request
  const context = { requestId, route: routeOptions?.url }
  if (isClientLeft(error, request)) request.log.debug(context, 'the client left before its response')
  else if (status === 503) request.server.unavailability.failed(error, context)
  else if (status >= 500 && status !== 501) request.log.error({ err: error, ...context }, 'request failed')
  else request.log.debug({ code, ...context }, 'request refused')
}

/** `Retry-After` of an unknown error that a protocol writes as 503. */
const faultRetrySeconds = 5

/** The error handler of routes whose refusals have the form of another protocol. */
export const refuseAs = (form: RefusalForm) => (error: Error, request: FastifyRequest, reply: FastifyReply) =>
  sendRefusal(error, request, reply, form)

/**
 * Responds to one error, and logs it. It is also used for Fastify's `frameworkErrors`, which occur before routing.
 * A `ProtocolRefusal` is sent as it was written.
 */
export function sendRefusal(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
  form: RefusalForm = parleyForm,
) {
  const refusal = error instanceof ProtocolRefusal ? error : asRefusal(error)
  const { status, contentType, body } = refusal instanceof ProtocolRefusal ? refusal.written : form(refusal, request.id)
  logRefusal(request, error, refusal)
  const retryAfter = refusal.retryAfter ?? (status === 503 ? faultRetrySeconds : undefined)
  if (retryAfter !== undefined) reply.header('retry-after', Math.ceil(retryAfter))
  // RFC 9110, 11.6.1: a 401 must name the method of authentication. Slack's form has another status, but the gateway must see the refusal.
  if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
  // RFC 6750, 3.1.
  if (refusal.code === 'insufficient_scope') reply.header('www-authenticate', 'Bearer error="insufficient_scope"')
  // Fastify closes the connection after every body that it refuses, in case more of the body follows.
  const mayStayOpen = request.raw.complete || refusal.status === 413
  if (mayStayOpen && ambiguityOf(request.raw) === undefined) reply.removeHeader('connection')
  dropRest(request.raw)
  return reply.code(status).type(contentType).serializer(String).send(body)
}

/** The refusal that a client gets for an error. An unknown error is a 500 without details. */
export function asRefusal(error: Error): ApiError {
  if (error instanceof ApiError) return error
  if (isDatabaseUnavailable(error)) return unavailable()
  const { code, validation, statusCode } = error as Partial<FastifyError>
  if (validation || error instanceof SyntaxError) return invalid(error.message)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge()
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new UnreadableBody('wrong type')
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return new UnreadableBody('not JSON')
  if (code === 'FST_ERR_BAD_URL') return invalid('The address is not a valid URL')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return invalid(error.message)
  // PostgreSQL's error class 22: a value that the column cannot hold. Validation should have refused it.
  if (code?.length === 5 && code.startsWith('22')) return invalid('The request contains a value that cannot be stored')
  return new ApiError(500, 'internal_error', 'Something went wrong on the server')
}

/**
 * Reads and drops the rest of a refused body. If the connection were closed instead, it would be reset, and a client or
 * proxy that is still sending would see the reset and never the refusal (RFC 9112, 9.6). After 64 MB or 15 s the
 * connection is closed.
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete) return
  // A request from within the process has no connection. `destroy` closes the connection if there is one.
  const close = () => request.destroy()
  let bytes = 0
  const timer = setTimeout(close, maxDrainMs).unref()
  request.once('close', () => clearTimeout(timer))
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxDrainBytes) close()
  })
  request.resume()
}

/** The client closed its connection. There is nobody to respond to, and it is not a failure. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'

  constructor() {
    super('the client closed the connection')
  }
}

/** Whether an error only means that the client closed its connection. */
const isClientLeft = (error: Error, { raw }: FastifyRequest): boolean =>
  error instanceof ClientLeft || (raw.destroyed && (error as NodeJS.ErrnoException).code === 'ECONNRESET')

/** Logs responses that break off. Clients often leave, because people close pages, so that is logged only at the level debug. */
export class LogClientsThatLeft extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(err: Error, request: FastifyRequest, reply: FastifyReply): void {
    const facts = { requestId: request.id, route: request.routeOptions.url }
    if (reply.raw.destroyed) {
      request.log.debug(facts, 'the client left before the end of its response')
    } else {
      request.log.warn({ err, ...facts }, 'a response ended early')
    }
  }
}
