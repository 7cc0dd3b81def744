import { Duplex } from 'node:stream'

/** The kinds of frames. `refuseNew` belongs to the carrier itself, and all others to one of its connections. */
export const kinds = { data: 0, end: 1, close: 2, refuseNew: 3 } as const

/** The most data of one frame. A connection that has more to send waits for its next turn. */
export const maxFrameBytes = 64 * 1024

/** A part of what one connection sends. The carrier writes the frames of all its connections. */
export interface Frame {
  number: number
  kind: number
  length: number
  parts: readonly Buffer[]
  /** Called when the frame has been written. */
  done: readonly (() => void)[]
}

type Callback = (error?: Error | null) => void

/** One connection of a carrier. It reports the addresses of the carrier's socket. */
export class CarriedConnection extends Duplex {
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
  #isEndedByOtherSide = false
  #isClosedByOtherSide = false

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

  /** Moves unsent data, at most one frame, into `frames`. Returns the number of bytes. */
  takeFrames(frames: Frame[]): number {
    let taken = 0
    if (this.#parts.length > 0) {
      const parts: Buffer[] = []
      while (this.#parts.length > 0 && taken < maxFrameBytes) {
        const part = this.#parts.shift()!
        const some = part.subarray(0, maxFrameBytes - taken)
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

  /** The callbacks of the writes, once all data is in frames. */
  #takeDone(): (() => void)[] {
    if (this.#bytes > 0 || this.#done.length === 0) return noCallbacks
    const done = this.#done
    this.#done = []
    return done
  }

  /** Closes this connection after the bytes that came before have been read. */
  closeFromOtherSide() {
    this.#isClosedByOtherSide = true
    if (this.readableEnded) return void this.destroy()
    this.once('end', () => this.destroy())
    this.endFromOtherSide()
  }

  endFromOtherSide() {
    if (this.#isEndedByOtherSide) return
    this.#isEndedByOtherSide = true
    this.push(null)
  }

  /** Closes this connection with an error, because its carrier is closed. */
  breakOff() {
    this.#isClosedByOtherSide = true
    this.destroy(new Error('The carrier of this connection was closed'))
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
    this.#closesNext = !this.#isClosedByOtherSide
    for (const done of this.#done.splice(0)) done()
    this.#onClose(this)
    callback(error)
  }
}

const noCallbacks: readonly (() => void)[] & (() => void)[] = []
