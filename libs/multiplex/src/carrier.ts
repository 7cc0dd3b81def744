import type { Duplex } from 'node:stream'
import { CarriedConnection, type Frame, kinds, maxFrameBytes } from './carried-connection.ts'

/** The name of the protocol in the header `Upgrade`. */
export const protocol = 'parley-connections'

/** A connection that carries other connections. */
export interface Carrier {
  /** Opens a connection. The other side accepts it when its first bytes come. Only one of the two sides may open connections. */
  open(): Duplex
  /** False once the carrier is closed, or the other side has called `refuseNew`. */
  readonly canOpen: boolean
  /** Asks the other side to open no further connections. The carrier closes when the last connection has ended. */
  refuseNew(): void
  /** Closes the carrier and all its connections immediately. */
  destroy(): void
}

/** A frame begins with the number of its connection (4 bytes), its kind (1 byte) and the length of its data (3 bytes). */
const headerBytes = 8
/** The most data of one write. The rest waits until the socket has drained. */
const maxWriteBytes = 512 * 1024
/** With fewer connections the carrier writes immediately, because few others could join the write. */
const fewConnections = 8
const maxWaitMs = 1

/**
 * Makes a socket a carrier. Everything that its connections send within one turn of the event loop goes out in one write, because a
 * short write costs as much as a long one. There is no flow control: received bytes wait in memory until they are read, so both sides
 * must read quickly. `onConnection` is called with each connection that the other side opens.
 */
export function carryConnections(socket: Duplex, onConnection?: (connection: Duplex) => void): Carrier {
  const connections = new Map<number, CarriedConnection>()
  /** The connections with unsent data, in the order of their turns. */
  const sending = new Set<CarriedConnection>()
  let newestNumber = 0
  let isScheduled = false
  let scheduledAt = 0
  /** The size of `sending` when the last wait was decided. */
  let sendingBefore = 0
  let isDraining = false
  let refusesNew = false
  let incompleteFrame: Buffer | undefined

  function add(number: number): CarriedConnection {
    const connection = new CarriedConnection(number, socket, schedule, remove)
    connections.set(number, connection)
    return connection
  }

  function remove(connection: CarriedConnection) {
    connections.delete(connection.number)
    if (!socket.destroyed) schedule(connection)
    endWhenLast()
  }

  function endWhenLast() {
    if (refusesNew && connections.size === 0 && sending.size === 0) socket.end()
  }

  /** Writes after this turn of the event loop, so that all data of the turn goes out together. */
  function schedule(connection: CarriedConnection) {
    sending.add(connection)
    if (isScheduled || isDraining) return
    isScheduled = true
    scheduledAt = performance.now()
    sendingBefore = 0
    setImmediate(sendTurn)
  }

  /** Whether to wait another turn of the event loop: more connections have data with every turn, and the time is not over. */
  function shouldWait() {
    if (connections.size < fewConnections || sending.size <= sendingBefore) return false
    sendingBefore = sending.size
    return sendingBefore < connections.size && performance.now() - scheduledAt < maxWaitMs
  }

  function sendTurn() {
    if (!isDraining && shouldWait()) return void setImmediate(sendTurn)
    isScheduled = false
    if (socket.destroyed) return
    const frames: Frame[] = []
    let bytes = 0
    for (const connection of sending) {
      sending.delete(connection)
      bytes += connection.takeFrames(frames)
      if (connection.hasMore) sending.add(connection)
      if (bytes >= maxWriteBytes) break
    }
    if (frames.length > 0) write(frames, bytes)
    for (const { done } of frames) for (const each of done) each()
    if (sending.size > 0 && !isDraining && !isScheduled) {
      isScheduled = true
      setImmediate(sendTurn)
    }
    endWhenLast()
  }

  function write(frames: readonly Frame[], bytes: number) {
    const buffer = Buffer.allocUnsafe(frames.length * headerBytes + bytes)
    let at = 0
    for (const { number, kind, length, parts } of frames) {
      at = buffer.writeUInt32BE(number, at)
      at = buffer.writeUInt8(kind, at)
      at = buffer.writeUIntBE(length, at, 3)
      for (const part of parts) at += part.copy(buffer, at)
    }
    if (socket.write(buffer)) return
    isDraining = true
    socket.once('drain', () => {
      isDraining = false
      sendTurn()
    })
  }

  function receive(chunk: Buffer) {
    const bytes = incompleteFrame === undefined ? chunk : Buffer.concat([incompleteFrame, chunk])
    incompleteFrame = undefined
    let at = 0
    while (at + headerBytes <= bytes.length) {
      const length = bytes.readUIntBE(at + 5, 3)
      if (length > maxFrameBytes) return void socket.destroy(notAFrame())
      const end = at + headerBytes + length
      if (end > bytes.length) break
      handleFrame(bytes.readUInt32BE(at), bytes[at + 4]!, bytes.subarray(at + headerBytes, end))
      at = end
    }
    if (at < bytes.length) incompleteFrame = bytes.subarray(at)
  }

  function handleFrame(number: number, kind: number, data: Buffer) {
    if (kind > kinds.refuseNew) return void socket.destroy(notAFrame())
    if (kind === kinds.refuseNew) {
      refusesNew = true
      return endWhenLast()
    }
    let connection = connections.get(number)
    if (!connection && number > newestNumber && onConnection) {
      newestNumber = number
      connection = add(number)
      onConnection(connection)
    }
    // This side has closed the connection already, so the frame is ignored.
    if (!connection) return
    if (kind === kinds.data) connection.push(data)
    else if (kind === kinds.end) connection.endFromOtherSide()
    else if (kind === kinds.close) connection.closeFromOtherSide()
  }

  socket.on('data', receive)
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  socket.on('close', () => {
    for (const connection of [...connections.values()]) {
      // The side that accepted the connection sees that its client has closed it. The side that opened it gets an error, because
      // it waits for a response.
      if (onConnection) connection.closeFromOtherSide()
      else connection.breakOff()
    }
  })

  return {
    open() {
      const connection = add(++newestNumber)
      if (socket.destroyed) connection.breakOff()
      return connection
    },
    get canOpen() {
      return !refusesNew && !socket.destroyed && socket.writable
    },
    refuseNew() {
      if (refusesNew) return
      refusesNew = true
      if (socket.writable) socket.write(Buffer.from([0, 0, 0, 0, kinds.refuseNew, 0, 0, 0]))
      endWhenLast()
    },
    destroy: () => void socket.destroy(),
  }
}

const notAFrame = () => new Error('The received bytes are not a frame of a carrier')
