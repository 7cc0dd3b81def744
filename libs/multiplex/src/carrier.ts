import { Duplex } from 'node:stream'

/** The name of the protocol, for the header `Upgrade`. */
export const protocol = 'parley-connections'

/** A connection that carries other connections. */
export interface Carrier {
  /** Begins a connection. The other side learns of it with its first bytes. Only one of the two sides may begin connections. */
  open(): Duplex
  /** False once the carrier has broken, or the other side wants no further connections. */
  readonly canOpen: boolean
  /** Asks the other side to begin no further connections. The carrier ends with the last one. */
  leave(): void
  /** Ends the carrier and all that it carries, at once. */
  destroy(): void
}

/** A frame begins with the number of its connection (4 bytes), its kind (1 byte) and the length of its data (3 bytes). */
const headBytes = 8
const kinds = { data: 0, end: 1, close: 2, leaving: 3 } as const
/** Connections that have more to send take turns after so many bytes. */
const frameBytes = 64 * 1024
/** Bytes that are written at once. The rest waits until the carrier has sent them. */
const turnBytes = 512 * 1024
/** With fewer connections nothing is gained by waiting for others. */
const fewConnections = 8
const longestWaitMs = 1

/**
 * Lets a connection carry many others. Whatever they send within one turn of the event loop goes out in one write, because a write of
 * a few bytes costs as much as one of many. The bytes of a connection that nobody reads wait in memory, so both sides must take what
 * comes at once. `onConnection` is told each connection that the other side begins.
 */
export function carryConnections(socket: Duplex, onConnection?: (connection: Duplex) => void): Carrier {
  const connections = new Map<number, CarriedConnection>()
  /** Those that have something to send, in the order of their turns. */
  const sending = new Set<CarriedConnection>()
  let newest = 0
  let isScheduled = false
  let scheduledAt = 0
  let counted = 0
  let isDraining = false
  let isLeaving = false
  let rest: Buffer | undefined

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
    if (isLeaving && connections.size === 0 && sending.size === 0) socket.end()
  }

  /** After this turn of the event loop, so that all of its writes go out together. */
  function schedule(connection: CarriedConnection) {
    sending.add(connection)
    if (isScheduled || isDraining) return
    isScheduled = true
    scheduledAt = performance.now()
    counted = 0
    setImmediate(sendTurn)
  }

  /** While many are busy and more come with every turn of the event loop, it waits for them, but not for long. */
  function mayWait() {
    if (connections.size < fewConnections || sending.size <= counted) return false
    counted = sending.size
    return counted < connections.size && performance.now() - scheduledAt < longestWaitMs
  }

  function sendTurn() {
    if (!isDraining && mayWait()) return void setImmediate(sendTurn)
    isScheduled = false
    if (socket.destroyed) return
    const frames: Frame[] = []
    let bytes = 0
    for (const connection of sending) {
      sending.delete(connection)
      const taken = connection.takeFrames(frames)
      bytes += taken
      if (connection.hasMore) sending.add(connection)
      if (bytes >= turnBytes) break
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
    const text = Buffer.allocUnsafe(frames.length * headBytes + bytes)
    let at = 0
    for (const { number, kind, length, parts } of frames) {
      at = text.writeUInt32BE(number, at)
      at = text.writeUInt8(kind, at)
      at = text.writeUIntBE(length, at, 3)
      for (const part of parts) at += part.copy(text, at)
    }
    if (socket.write(text)) return
    isDraining = true
    socket.once('drain', () => {
      isDraining = false
      sendTurn()
    })
  }

  function receive(chunk: Buffer) {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    rest = undefined
    let at = 0
    while (at + headBytes <= bytes.length) {
      const length = bytes.readUIntBE(at + 5, 3)
      if (length > frameBytes) return void socket.destroy(notAFrame())
      const end = at + headBytes + length
      if (end > bytes.length) break
      take(bytes.readUInt32BE(at), bytes[at + 4]!, bytes.subarray(at + headBytes, end))
      at = end
    }
    if (at < bytes.length) rest = bytes.subarray(at)
  }

  function take(number: number, kind: number, data: Buffer) {
    if (kind > kinds.leaving) return void socket.destroy(notAFrame())
    if (kind === kinds.leaving) {
      isLeaving = true
      return endWhenLast()
    }
    let connection = connections.get(number)
    if (!connection && number > newest && onConnection) {
      newest = number
      connection = add(number)
      onConnection(connection)
    }
    // What comes for a connection that has ended here is late.
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
      // Whoever has begun a connection waits for something. For the other side its client has left.
      if (onConnection) connection.closeFromOtherSide()
      else connection.breakOff()
    }
  })

  return {
    open() {
      const connection = add(++newest)
      if (socket.destroyed) connection.breakOff()
      return connection
    },
    get canOpen() {
      return !isLeaving && !socket.destroyed && socket.writable
    },
    leave() {
      if (isLeaving) return
      isLeaving = true
      if (socket.writable) socket.write(Buffer.from([0, 0, 0, 0, kinds.leaving, 0, 0, 0]))
      endWhenLast()
    },
    destroy: () => void socket.destroy(),
  }
}

const notAFrame = () => new Error('not a frame of carried connections')

interface Frame {
  number: number
  kind: number
  length: number
  parts: readonly Buffer[]
  /** Called once it is written. */
  done: readonly (() => void)[]
}

type Callback = (error?: Error | null) => void

/** A connection that is carried. Addresses are those of the carrier. */
class CarriedConnection extends Duplex {
  readonly number: number
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly encrypted: boolean
  bytesRead = 0
  bytesWritten = 0
  #schedule: (connection: CarriedConnection) => void
  #onClose: (connection: CarriedConnection) => void
  #parts: Buffer[] = []
  #bytes = 0
  #done: (() => void)[] = []
  #endsNext = false
  #closesNext = false
  #isEndedThere = false
  #isClosedThere = false

  constructor(
    number: number,
    carrier: Duplex & { remoteAddress?: string; remotePort?: number; encrypted?: boolean },
    schedule: (connection: CarriedConnection) => void,
    onClose: (connection: CarriedConnection) => void,
  ) {
    super({ emitClose: true, autoDestroy: true })
    this.number = number
    this.remoteAddress = carrier.remoteAddress
    this.remotePort = carrier.remotePort
    this.encrypted = carrier.encrypted === true
    this.#schedule = schedule
    this.#onClose = onClose
  }

  /** Moves what is to be sent, up to the bytes of a frame, into `frames`; answers how many bytes. */
  takeFrames(frames: Frame[]): number {
    let taken = 0
    if (this.#parts.length > 0) {
      const parts: Buffer[] = []
      while (this.#parts.length > 0 && taken < frameBytes) {
        const part = this.#parts.shift()!
        const some = part.subarray(0, frameBytes - taken)
        if (some.length < part.length) this.#parts.unshift(part.subarray(some.length))
        parts.push(some)
        taken += some.length
      }
      this.#bytes -= taken
      frames.push({ number: this.number, kind: kinds.data, length: taken, parts, done: this.#takeDone() })
    }
    if (this.#bytes > 0) return taken
    if (this.#endsNext || this.#closesNext) {
      const kind = this.#closesNext ? kinds.close : kinds.end
      this.#endsNext = false
      this.#closesNext = false
      frames.push({ number: this.number, kind, length: 0, parts: [], done: this.#takeDone() })
    }
    return taken
  }

  get hasMore() {
    return this.#bytes > 0 || this.#endsNext || this.#closesNext
  }

  /** What was written is done once all of it is sent. */
  #takeDone(): (() => void)[] {
    if (this.#bytes > 0 || this.#done.length === 0) return nothing
    const done = this.#done
    this.#done = []
    return done
  }

  /** What has come before can still be read. */
  closeFromOtherSide() {
    this.#isClosedThere = true
    if (this.readableEnded) return void this.destroy()
    this.once('end', () => this.destroy())
    this.endFromOtherSide()
  }

  endFromOtherSide() {
    if (this.#isEndedThere) return
    this.#isEndedThere = true
    this.push(null)
  }

  /** The carrier is gone. */
  breakOff() {
    this.#isClosedThere = true
    this.destroy(new Error('the connection that carried this one was closed'))
  }

  override push(data: Buffer | null): boolean {
    if (data !== null) this.bytesRead += data.length
    return super.push(data)
  }

  override _read() {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: Callback) {
    this.#add(chunk)
    this.#done.push(callback)
    this.#schedule(this)
  }

  override _writev(chunks: { chunk: Buffer }[], callback: Callback) {
    for (const { chunk } of chunks) this.#add(chunk)
    this.#done.push(callback)
    this.#schedule(this)
  }

  #add(chunk: Buffer) {
    this.#parts.push(chunk)
    this.#bytes += chunk.length
    this.bytesWritten += chunk.length
  }

  override _final(callback: Callback) {
    this.#endsNext = true
    this.#done.push(callback)
    this.#schedule(this)
  }

  override _destroy(error: Error | null, callback: Callback) {
    this.#parts = []
    this.#bytes = 0
    this.#endsNext = false
    this.#closesNext = !this.#isClosedThere
    for (const done of this.#done.splice(0)) done()
    this.#onClose(this)
    callback(error)
  }
}

const nothing: readonly (() => void)[] & (() => void)[] = []
