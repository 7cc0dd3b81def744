import { isIP } from 'node:net'
import { Agent, errors, request as send } from 'undici'
import { createAddressRule, forbiddenAddress, guardedLookup, type Resolve, resolveBySystem } from './addresses.ts'
import { readBody } from './bodies.ts'
import { RequestFailed } from './request-failed.ts'

export interface RequesterOptions {
  /** Addresses and CIDR ranges of internal networks that may be called. */
  allowedNetworks: readonly string[]
  /** The resolver of the system unless given. */
  resolve?: Resolve
}

interface OutboundRequest {
  /** http or https. */
  url: string
  /** GET unless given. */
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** The maximum number of redirects, only for a GET. The default is 0. */
  redirects?: number
  /** The largest body of the response, decoded. 1 MB unless given. */
  maxBytes?: number
  /** Time for everything: resolution of the name, redirects and body. 10 s unless given. */
  timeoutMs?: number
  /** Whether a response counts even if its body cannot be read completely, because only its status matters. */
  isBodyOptional?: boolean
  /** Ends the request early. */
  signal?: AbortSignal
}

export interface OutboundResponse {
  /** The address of the response, after redirects. */
  url: string
  status: number
  /** By lower-case name. Several headers of one name are joined. */
  headers: Record<string, string>
  body: Buffer
  /** Whether the body was longer than `maxBytes`. */
  isCut: boolean
}

export interface Requester {
  /**
   * Resolves with a response of any status. @throws RequestFailed without a response; the reason of `signal` when that ended
   * the request.
   */
  request(request: OutboundRequest): Promise<OutboundResponse>
  close(): Promise<void>
}

const usualBytes = 1024 * 1024
const usualTimeoutMs = 10_000

/**
 * Makes requests to addresses that strangers chose. It calls only public addresses, and sends no cookies and no
 * passwords. A name is resolved once for each connection, and the connection goes to the address that was checked.
 */
export function createRequester({ allowedNetworks, resolve = resolveBySystem }: RequesterOptions): Requester {
  const isAllowed = createAddressRule(allowedNetworks)
  const agent = new Agent({
    allowH2: false,
    connect: { lookup: guardedLookup(resolve, isAllowed), timeout: usualTimeoutMs },
    maxHeaderSize: 16_384,
  })

  async function request(asked: OutboundRequest): Promise<OutboundResponse> {
    const { timeoutMs = usualTimeoutMs, redirects = 0 } = asked
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = asked.signal ? AbortSignal.any([timeout, asked.signal]) : timeout
    try {
      let url = readUrl(asked.url)
      for (let followed = 0; ; followed++) {
        const response = await once({ ...asked, url: url.href, signal })
        asked.signal?.throwIfAborted()
        const { location } = response.headers
        const isRedirect = redirects > 0 && redirectStatuses.has(response.status) && location !== undefined
        if (!isRedirect) return response
        if (followed === redirects) throw new RequestFailed('redirected', `There are more than ${redirects} redirects`)
        url = readUrl(location, url)
      }
    } catch (error) {
      if (asked.signal?.aborted) throw asked.signal.reason
      throw failureOf(error, timeout)
    }
  }

  async function once(asked: OutboundRequest & { signal: AbortSignal }): Promise<OutboundResponse> {
    const { url, method = 'GET', headers, body, maxBytes = usualBytes, isBodyOptional = false, signal } = asked
    // A name is checked when it is resolved. A host that is an address is not resolved, so it is checked here.
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isAllowed(host)) throw forbiddenAddress()

    const response = await untilAborted(signal, send(url, { method, headers, body, signal, dispatcher: agent }))
    const responseHeaders: Record<string, string> = {}
    for (const [name, value] of Object.entries(response.headers)) responseHeaders[name] = [value].flat().join(', ')
    const reading = readBody(response.body, responseHeaders['content-encoding'], maxBytes)
    const { bytes, isCut } = await reading.catch((error) => {
      if (isBodyOptional) return { bytes: Buffer.alloc(0), isCut: true }
      throw error
    })
    return { url, status: response.statusCode, headers: responseHeaders, body: bytes, isCut }
  }

  return { request, close: () => agent.destroy() }
}

/** The result of `work`, unless the signal is aborted before. undici obeys a signal only when the connection is there. */
async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new RequestFailed('invalid', 'The address must begin with http:// or https://')
  // A password in the URL would be sent to an unknown server.
  if (url.username !== '' || url.password !== '')
    throw new RequestFailed('invalid', 'The address must not have a user name or password')
  return url
}

function failureOf(error: unknown, timeout: AbortSignal): RequestFailed {
  if (error instanceof RequestFailed) return error
  const { code } = error as { code?: string }
  if (timeout.aborted || error instanceof errors.ConnectTimeoutError)
    return new RequestFailed('slow', 'The response did not arrive in time', error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new RequestFailed('unknown', 'The host name of the address does not exist', error)
  return new RequestFailed('unreachable', `No response could be read${code ? ` (${code})` : ''}`, error)
}
