import type { IncomingMessage } from 'node:http'

const longestMs = 15_000
const mostBytes = 64 * 1024 * 1024

/**
 * Reads what is still to come of a body that was refused, and drops it. Closing instead would reset the connection: a client or
 * proxy that is busy sending sees that, and never the refusal (RFC 9112, 9.6). Who sends more than 64 MB or longer than 15 s is cut.
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete) return
  const { socket } = request
  let bytes = 0
  const patience = setTimeout(() => socket.destroy(), longestMs).unref()
  request.once('close', () => clearTimeout(patience))
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > mostBytes) socket.destroy()
  })
  request.resume()
}
