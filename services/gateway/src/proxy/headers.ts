import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Headers that are only for one connection (RFC 9110, 7.6.1), beside those that `Connection` names. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/**
 * Headers that the gateway writes itself (its instrumentation writes those of the trace), or that are only for its own
 * connection.
 */
const ownHeaders = new Set([
  'host',
  'expect',
  'forwarded',
  'x-real-ip',
  'x-request-id',
  'traceparent',
  'tracestate',
  'baggage',
])

/**
 * The headers that a service gets with a request. Only the gateway writes the client's address, the host that the client asked for, and the
 * request's id.
 */
export function requestHeaders(request: FastifyRequest): Record<string, string | string[]> {
  const { headers } = request
  const named = namedByConnection(headers.connection)
  const kept: Record<string, string | string[]> = {}
  for (const name in headers) {
    if (hopByHop.has(name) || ownHeaders.has(name) || name.startsWith('x-forwarded-') || named?.has(name)) continue
    kept[name] = headers[name]!
  }
  kept['x-forwarded-for'] = request.ip
  kept['x-forwarded-host'] = request.host
  kept['x-forwarded-proto'] = request.protocol
  kept['x-request-id'] = request.id
  return kept
}

/** The headers that the client gets: those of the gateway, overridden by those of the service, which knows the exceptions. */
export function responseHeaders(raw: readonly Buffer[], reply: FastifyReply): OutgoingHttpHeaders {
  const headers = reply.getHeaders() as OutgoingHttpHeaders
  const { vary } = headers
  const named = namedByConnection(valueNamed(raw, 'connection'))
  const seen = new Set<string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!.toString('latin1').toLowerCase()
    if (hopByHop.has(name) || name === 'x-request-id' || named?.has(name)) continue
    const value = raw[index + 1]!.toString('latin1')
    headers[name] = seen.has(name) ? [headers[name] as string | string[], value].flat() : value
    seen.add(name)
  }
  if (vary && seen.has('vary')) headers.vary = [vary as string, headers.vary as string].flat().join(', ')
  return headers
}

/** The value of a raw header; undefined when there is none. The name must be in lower case. */
export function valueNamed(raw: readonly Buffer[], wanted: string): string | undefined {
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]!.length === wanted.length && raw[index]!.toString('latin1').toLowerCase() === wanted) {
      return raw[index + 1]!.toString('latin1')
    }
  }
  return undefined
}

function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (!connection || /^(keep-alive|close)$/i.test(connection)) return undefined
  return new Set(connection.toLowerCase().split(/\s*,\s*/))
}
