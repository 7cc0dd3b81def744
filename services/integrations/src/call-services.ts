import { type Config, ConfigError } from '@parley/config'
import { ApiError, unavailable } from '@parley/contract'
import { insideAddress } from '@parley/service'
import type { FastifyInstance } from 'fastify'
import { Agent, type Dispatcher, errors, interceptors, request } from 'undici'

/** The services that this one calls. */
const called = ['directory', 'messaging'] as const

/** A request of Parley's own API, on behalf of the owner of the token. */
export interface ServiceRequest {
  service: (typeof called)[number]
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  /** The path and the query. */
  path: string
  token: string
  /** An object is sent as JSON, a buffer as it is. */
  body?: object | Buffer | undefined
  /** For a request that creates something: without it, a repeated request may create it twice. */
  idempotencyKey?: string | undefined
  /** The id of the request that caused this one. The logs of both contain it. */
  requestId?: string | undefined
}

export interface ServiceResponse {
  status: number
  /** JSON; a refusal is `{error, code}`. Empty with the statuses from 500 on. */
  // biome-ignore lint/suspicious/noExplicitAny: the contract of the API defines it
  body: any
  /** Seconds. Only with 429 and 503. */
  retryAfter: number | undefined
}

/** The error for the client, made from the refusal of a service. */
export const refusalOf = ({ status, body, retryAfter }: ServiceResponse): ApiError =>
  status >= 500 ? unavailable() : new ApiError(status, body.code, body.error, retryAfter)

/** Sends one request to a service. @throws ApiError 503 when no replica answers, or the answer is not JSON. */
export type CallService = (request: ServiceRequest) => Promise<ServiceResponse>

/** Calls the services that are mounted on this app, without a network connection. */
export const servicesOf =
  (app: FastifyInstance): CallService =>
  async (request) => {
    const { method, path } = request
    const { statusCode, headers, payload } = await app.inject({
      method,
      url: path,
      headers: headersOf(request),
      payload: payloadOf(request),
      remoteAddress: insideAddress,
    })
    return responseOf(statusCode, headers['retry-after'], payload)
  }

interface UpstreamConfig {
  gateway: { upstreams: Pick<Config['gateway']['upstreams'], (typeof called)[number]> }
}

/**
 * Calls the services of a cluster, at `gateway.upstreams`. Requests go to all addresses of a host name in turn.
 * @throws ConfigError when a service has no address.
 */
export function connectServices(
  { gateway: { upstreams } }: UpstreamConfig,
  { timeoutMs = 30_000 } = {},
): { call: CallService; close(): Promise<void> } {
  const missing = called.filter((name) => upstreams[name].length === 0)
  if (missing.length > 0)
    throw new ConfigError(missing.map((name) => ({ key: `gateway.upstreams.${name}`, message: 'names no replica' })))

  const timeouts = { connect: { timeout: 2_000 }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  const agent = new Agent({ connections: 64, ...timeouts })
  const dispatcher = agent.compose(interceptors.dns({ maxTTL: 3_000, dualStack: false }))
  let turn = 0
  const call: CallService = async (wanted) => {
    const addresses = upstreams[wanted.service]
    // Two tries for each replica: the first one may fail because its keep-alive connection was closed meanwhile.
    for (let tries = 2 * addresses.length; tries > 0; tries--) {
      const address = addresses[turn++ % addresses.length]!
      const response = await send(dispatcher, address, wanted).catch((error: NodeJS.ErrnoException) => {
        if (!isReplicaFailure(error)) throw error
      })
      if (response) return response
    }
    throw unavailable()
  }
  return { call, close: () => agent.destroy() }
}

async function send(dispatcher: Dispatcher, address: string, wanted: ServiceRequest): Promise<ServiceResponse> {
  const { method, path } = wanted
  const headers = headersOf(wanted)
  const {
    statusCode,
    headers: received,
    body,
  } = await request(address + path, {
    dispatcher,
    method,
    headers,
    body: payloadOf(wanted) ?? null,
  })
  return responseOf(statusCode, received['retry-after'], await body.text())
}

const headersOf = ({ token, body, idempotencyKey, requestId }: ServiceRequest) => ({
  authorization: `Bearer ${token}`,
  ...(body !== undefined && {
    'content-type': Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json',
  }),
  ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  ...(requestId !== undefined && { 'x-request-id': requestId }),
})

const payloadOf = ({ body }: ServiceRequest) =>
  body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body)

const responseOf = (status: number, retryAfter: unknown, text: string): ServiceResponse => ({
  status,
  // A proxy between the services may answer for a service that is unavailable, without JSON.
  body: text === '' || status >= 500 ? {} : parseAnswer(text),
  retryAfter: retryAfter === undefined ? undefined : Number(retryAfter),
})

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unavailable()
  }
}

/** Whether the replica could not be reached, or no whole response came from it. */
const isReplicaFailure = (error: NodeJS.ErrnoException) =>
  error instanceof errors.HTTPParserError || failureCodes.test(error.code ?? '')

const failureCodes =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|UND_ERR_(SOCKET|(CONNECT|HEADERS|BODY)_TIMEOUT))$/
