import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Takes a connection out of the hands of Node's HTTP server, as the server does itself for an upgrade: parser, request
 * and response of an open stream can then be collected (17 KB of process memory per idle stream become 7). For everybody
 * who watches the response (hooks, metrics, traces) it is finished here; what goes over the socket is the caller's.
 */
export function detachSocket(socket: HttpSocket, response: ServerResponse): void {
  response.emit('finish')
  socket.setTimeout(0)
  releaseParser(socket)
  for (const event of serverEvents) socket.removeAllListeners(event)
  for (const override of serverOverrides) Reflect.deleteProperty(socket, override)
}

/** Fields Node's HTTP server puts on a socket; none is documented, so each may be missing. */
export interface HttpSocket extends Socket {
  parser?: { _consumed?: boolean; unconsume?(): void; remove?(): void; close?(): void } | null
  _handle?: { _consumed?: boolean } | null
}

const serverEvents = ['data', 'end', 'close', 'drain', 'error', 'timeout', 'pause', 'resume']
const serverOverrides = ['on', 'addListener', 'prependListener', 'setEncoding']

function releaseParser(socket: HttpSocket) {
  const { parser } = socket
  if (!parser) return
  if (parser._consumed) parser.unconsume?.()
  if (socket._handle) socket._handle._consumed = false
  socket.parser = null
  // Takes it off the server's list of connections under timeout, then frees what lies behind it.
  parser.remove?.()
  for (const field of Object.keys(parser)) Reflect.set(parser, field, null)
  parser.close?.()
}
