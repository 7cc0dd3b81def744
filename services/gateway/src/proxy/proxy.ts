import { ConfigError } from '@parley/config'
import { ApiError, unavailable } from '@parley/contract'
import type { Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { mergeDescriptions, type OpenApi } from '../edge/merged-openapi.ts'
import { type RoutedService, type Row, routedServices } from '../routing-table.ts'
import { attempt } from './forward-request.ts'
import { requestHeaders } from './headers.ts'
import { connectReplicas, type Replicas } from './replicas.ts'
import { proxiedBody } from './request-body.ts'

/** Time a service has to begin its reply, and between two parts of it. */
const replyMs = 60_000
const uploadLimitBytes = 40 * 1024 * 1024

export type ServiceProxy = ReturnType<typeof createProxy>

/**
 * Passes requests on to the replicas of the services.
 * @throws ConfigError when a service has no replica.
 */
export function createProxy({ config, logger }: Pick<Deps, 'config' | 'logger'>) {
  const { upstreams } = config.gateway
  const missing = routedServices.filter((name) => upstreams[name].length === 0)
  if (missing.length > 0) {
    throw new ConfigError(missing.map((name) => ({ key: `gateway.upstreams.${name}`, message: 'names no replica' })))
  }
  const services = Object.fromEntries(
    routedServices.map((name) => [name, connectReplicas(name, upstreams[name], logger)]),
  ) as Record<RoutedService, Replicas>

  /**
   * Sends a request to one replica and its reply to the client. A replica that cannot be reached has not seen it, so
   * another one gets it; after that only what may happen twice is repeated: a GET, and what has an `Idempotency-Key`.
   * @throws ApiError 503 when no reply was begun, 413 when the body is too large; ClientLeft when nobody is there to answer.
   */
  async function forward(row: Row, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { service, transfer } = row
    const isStream = service === 'realtime'
    const isUpload = transfer === 'upload'
    const limit = isUpload ? uploadLimitBytes : config.server.bodyLimitBytes
    const body = await proxiedBody(request.raw, { limit, isUpload })
    const pool = isStream ? 'streams' : transfer ? (`${transfer}s` as const) : 'calls'
    const options: Dispatcher.DispatchOptions = {
      path: request.raw.url!,
      method: request.method as Dispatcher.HttpMethod,
      headers: requestHeaders(request),
      body: body as Buffer | null,
      headersTimeout: replyMs,
      bodyTimeout: isStream ? 0 : replyMs,
    }
    const isRepeatable = mayHappenTwice(row, request) && (body === null || Buffer.isBuffer(body))
    for (const replica of services[service].inTurn()) {
      const outcome = await attempt(replica, pool, options, reply)
      if (outcome.kind === 'answered') return
      if (outcome.kind === 'client left') throw outcome.error
      request.log.warn(
        { err: outcome.error, requestId: request.id, upstream: service, sent: outcome.kind === 'lost' },
        'a replica failed',
      )
      if (outcome.error instanceof ApiError) throw outcome.error
      if (outcome.kind === 'unreachable') replica.rest()
      else if (!isRepeatable) break
    }
    throw unavailable()
  }

  /** Asks every replica; resolves with the first good answer, rejects when there is none. */
  async function ask(service: RoutedService, path: string): Promise<string> {
    return Promise.any(
      services[service].inTurn().map(async ({ pools }) => {
        const { statusCode, body } = await pools.questions.request({
          path,
          method: 'GET',
          signal: AbortSignal.timeout(1_900),
        })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${service} answers ${statusCode} to ${path}`)
        return text
      }),
    )
  }

  /** The API descriptions of all services and the gateway's own as one. @throws ApiError 503 when a service does not answer. */
  async function describe(own: OpenApi): Promise<OpenApi> {
    const texts = await Promise.all(routedServices.map((name) => ask(name, '/openapi.json'))).catch(() => {
      throw unavailable('Not every service answers right now. Please try again')
    })
    return mergeDescriptions([...texts.map((text) => JSON.parse(text) as OpenApi), own])
  }

  return {
    forward,
    ask,
    describe,
    /** Resolves when it is known where the services are; each replica is asked for signs of life from now on. */
    async start() {
      await Promise.all(routedServices.map((name) => services[name].start()))
    },
    async close() {
      await Promise.all(routedServices.map((name) => services[name].close()))
    },
  }
}

/** A request whose answer was lost may be sent again: it changes nothing, or the service knows it again by its key. */
const mayHappenTwice = ({ keyed }: Row, { method, headers }: FastifyRequest) =>
  method === 'GET' ||
  method === 'HEAD' ||
  (keyed === true && method === 'POST' && headers['idempotency-key'] !== undefined)
