import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { EndReason, OpenStream } from './stream.ts'

/**
 * Detaches a connection from Node's HTTP server, as the server itself does for an upgrade. Parser, request and response
 * of an open stream can then be garbage-collected: an idle stream takes 7 KB of process memory instead of 17. For
 * hooks, metrics and traces the response is finished. The caller writes to the socket from here on.
 */
export function detachSocket(socket: HttpSocket, response: ServerResponse): void {
  response.emit('finish')
  socket.setTimeout(0)
  releaseParser(socket)
  for (const event of serverEvents) socket.removeAllListeners(event)
  for (const override of serverOverrides) Reflect.deleteProperty(socket, override)
}

/** Fields that Node's HTTP server sets on a socket. None is documented, so each may be missing. */
interface HttpSocket extends Socket {
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
  // The parser is removed from the server's list of connections with a timeout, then its memory is freed.
  parser.remove?.()
  for (const field of Object.keys(parser)) Reflect.set(parser, field, null)
  parser.close?.()
}

type End = (stream: OpenStream, reason: EndReason) => void

const owner = Symbol('owner')
interface StreamSocket extends Socket {
  [owner]?: { stream: OpenStream; end: End }
}

/** Ends the stream when its client has left. */
export function watchSocket(stream: OpenStream, end: End): void {
  const socket = stream.socket as StreamSocket
  socket[owner] = { stream, end }
  socket.setNoDelay(true)
  socket.setKeepAlive(true, 30_000)
  socket.on('error', clientLeft)
  socket.on('end', clientLeft)
  socket.on('close', clientLeft)
  // Data that a client sends after its request is read and dropped. Without reading, the end of the connection would go
  // unnoticed.
  socket.on('data', ignore)
  socket.resume()
}

// This function is shared by all sockets, because a closure for each would take more memory than the rest of the
// stream.
function clientLeft(this: StreamSocket) {
  const owned = this[owner]
  owned?.end(owned.stream, 'client')
}

function ignore() {}

/** Whether this socket has a stream already. */
export const isTaken = (socket: Socket): boolean => (socket as StreamSocket)[owner] !== undefined

/** How long a client that does not read can delay the end of its connection. */
const closingMs = 5_000

/** Writes a closing comment and closes. A client that never reads its socket never sees the comment. */
export function endWithComment(socket: Socket, comment: string): void {
  socket.write(`: ended, ${comment}\n\n`)
  socket.destroySoon()
  setTimeout(() => socket.destroy(), closingMs).unref()
}

/** Aborts when the socket closes. */
export function closeSignal(socket: Socket): AbortSignal {
  const closed = new AbortController()
  if (socket.destroyed) closed.abort()
  else socket.once('close', () => closed.abort())
  return closed.signal
}

/** Resolves with true once the socket has sent its data or is closed, and with false after `timeoutMs`. */
export function drained(socket: Socket, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, timeoutMs, false)
  const done = () => resolve(true)
  socket.once('drain', done)
  socket.once('close', done)
  return promise.finally(() => {
    clearTimeout(timer)
    socket.off('drain', done)
    socket.off('close', done)
  })
}
