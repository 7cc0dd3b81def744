import { ConfigError } from '@parley/config'
import { ApiError, limits, unavailable } from '@parley/contract'
import { type Deps, timeoutWhileAwake } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { tokenRefused } from '../edge/rate-limit.ts'
import { isEventStream, type RoutedService, type Row, routedServices } from '../routing-table.ts'
import { forwardRequest } from './forward-request.ts'
import { requestHeaders, valueNamed } from './headers.ts'
import type { Pools } from './replica.ts'
import { connectReplicas, type Replicas, type ReplicasOptions } from './replicas.ts'
import { type RequestBody, readRequestBody } from './request-body.ts'

/** Time that a service has to begin its response, and the longest pause in it. */
const responseTimeoutMs = 60_000

export type ServiceProxy = ReturnType<typeof createProxy>

/**
 * Passes requests on to the replicas of the services.
 * @throws ConfigError when a service of the API has no replica.
 */
export function createProxy(
  { config, logger, tokens }: Pick<Deps, 'config' | 'logger' | 'tokens'>,
  replicas?: ReplicasOptions,
) {
  const { upstreams } = config.gateway
  const missing = routedServices.filter((name) => upstreams[name].length === 0)
  if (missing.length > 0) {
    throw new ConfigError(missing.map((name) => ({ key: `gateway.upstreams.${name}`, message: 'names no replica' })))
  }
  const names: readonly RoutedService[] = [...routedServices, 'web']
  const services = Object.fromEntries(
    names.map((name) => [name, connectReplicas(name, upstreams[name], logger, replicas)]),
  ) as Record<RoutedService, Replicas>

  /**
   * Sends a request to one replica and its response to the client. When a replica cannot be reached, the next one gets the request. When a
   * response is lost after the request was sent, only a repeatable request goes to the next one.
   * @throws ApiError 503 when no response began, 413 when the body is too large; ClientLeft.
   */
  async function forward(row: Row, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { service, transfer } = row
    const isUpload = transfer === 'upload'
    const limit = isUpload ? limits.uploadBody : config.server.bodyLimitBytes
    const body = await readRequestBody(request.raw, { limit, isUpload })
    const pool = isEventStream(row) ? 'streams' : transfer ? (`${transfer}s` as const) : 'calls'
    const options = dispatchOptionsOf(request, body, pool)
    const onHead = row.refusals === 'slack' ? noteSlackToken(request, reply) : noteGenuineToken(request)
    const mayRepeat = isRepeatable(row, request) && (body === null || Buffer.isBuffer(body))
    for (const replica of services[service].candidates()) {
      const outcome = await forwardRequest({ replica, pool, onHead }, options, reply)
      if (outcome.kind === 'answered') return
      if (outcome.kind === 'client left') throw outcome.error
      request.log.warn(
        { err: outcome.error, requestId: request.id, upstream: service, sent: outcome.kind === 'lost' },
        'a replica failed',
      )
      if (outcome.error instanceof ApiError) throw outcome.error
      if (outcome.kind === 'unreachable') replica.backOff()
      else if (!mayRepeat) break
    }
    throw unavailable()
  }

  /** A service that responds with success has verified the token. */
  const noteGenuineToken =
    ({ claims }: FastifyRequest) =>
    (status: number) => {
      if (claims && status < 300) tokens.noteGenuine(claims)
    }

  /** As `noteGenuineToken` for Slack's web API, whose status says nothing about the token. Its headers do. */
  const noteSlackToken =
    ({ claims }: FastifyRequest, reply: FastifyReply) =>
    (_status: number, headers: readonly Buffer[]) => {
      if (claims && valueNamed(headers, 'x-oauth-scopes') !== undefined) tokens.noteGenuine(claims)
      if (valueNamed(headers, 'www-authenticate') === tokenRefused) reply.header('www-authenticate', tokenRefused)
    }

  /** Requests this path from every replica. Resolves with the first 200 response, and rejects when there is none. */
  async function fetchFirst(service: RoutedService, path: string): Promise<string> {
    return Promise.any(
      services[service].candidates().map(async ({ pools }) => {
        const { statusCode, body } = await pools.own.request({
          path,
          method: 'GET',
          signal: timeoutWhileAwake(1_900),
        })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${service} answers ${statusCode} to ${path}`)
        return text
      }),
    ).catch(({ errors }: AggregateError) => {
      throw errors[0] ?? new Error(`no replica of ${service} is known`)
    })
  }

  return {
    forward,
    fetchFirst,
    /** Starts the look-ups of names and the health checks. Resolves when every name was looked up once. */
    async start() {
      await Promise.all(names.map((name) => services[name].start()))
    },
    async close() {
      await Promise.all(names.map((name) => services[name].close()))
    },
  }
}

const dispatchOptionsOf = (
  request: FastifyRequest,
  body: RequestBody,
  pool: keyof Pools,
): Dispatcher.DispatchOptions => ({
  path: request.raw.url!,
  method: request.method as Dispatcher.HttpMethod,
  headers: requestHeaders(request),
  // undici also takes an iterable, which its type does not have.
  body: body as Buffer | null,
  headersTimeout: responseTimeoutMs,
  bodyTimeout: pool === 'streams' ? 0 : responseTimeoutMs,
})

/** Whether a request may be sent twice, because it changes nothing, or the service recognises its `Idempotency-Key`. */
const isRepeatable = ({ keyed }: Row, { method, headers }: FastifyRequest) =>
  method === 'GET' ||
  method === 'HEAD' ||
  (keyed === true && method === 'POST' && headers['idempotency-key'] !== undefined)
