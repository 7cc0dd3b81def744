import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getOf } from './parley-streams.ts'
import type { Signed } from './people.ts'

const openingAtOnce = 64
const maxWaitMs = 30_000
const numbers = /no\. (\d{9})/g
const event = /^data: /gm
const unknownCursor = 'another-epoch.1'

/**
 * One stream that behaves as a client should: it reconnects with the cursor of its last event, after the time that the
 * server asked for.
 */
interface Stream {
  token: string
  socket: Socket | null
  cursor: string | undefined
  /** Number of the message that is expected next, counted from 0. */
  next: number
  isOpen: boolean
  /** Called once, when the stream opens the next time. */
  onOpen: (() => void) | undefined
  /** The timer after which the stream connects again. */
  wait: NodeJS.Timeout | undefined
  retryMs: number
  failures: number
}

interface Parsed {
  frames: string
  events: number
  numbers: number[]
  cursor: string | undefined
}

const newStream = (token: string): Stream => ({
  token,
  socket: null,
  cursor: undefined,
  next: 0,
  isOpen: false,
  onOpen: undefined,
  wait: undefined,
  retryMs: 1_000,
  failures: 0,
})

/** One buffer into which all sockets read. The bytes of one read are handled before the next read. */
const received = Buffer.allocUnsafeSlow(256 * 1024)

/** Streams that check whether each of them gets each numbered message once and in order. */
export class StormStreams {
  /** Attempts to connect since the last cut. */
  attempts = 0
  /** Number of answers by status, without 200. */
  readonly refusals = new Map<string, number>()
  lost = 0
  repeated = 0
  notResumed = 0
  /** Events and bytes of all streams together. */
  events = 0
  bytes = 0
  #port: number
  #path: string
  #streams: Stream[] = []
  #isClosing = false
  #parsed: Parsed = { frames: '', events: 0, numbers: [], cursor: undefined }

  private constructor(port: number, path: string) {
    this.#port = port
    this.#path = path
  }

  static async open(port: number, people: readonly Signed[], path = '/events'): Promise<StormStreams> {
    const streams = new StormStreams(port, path)
    await streams.add(people)
    return streams
  }

  get size() {
    return this.#streams.length
  }

  get open() {
    return this.#streams.filter(({ isOpen }) => isOpen).length
  }

  /** Number of messages that every stream has received. */
  get complete() {
    return this.#streams.reduce((least, { next }) => Math.min(least, next), Number.POSITIVE_INFINITY)
  }

  /** Cuts one connection and opens a new one at once; resolves when the stream is open again. */
  reopen(index: number): Promise<void> {
    const stream = this.#streams[index]!
    // Another caller that waits for this stream has cut it already.
    const isCut = stream.onOpen !== undefined
    const opened = this.#nextOpening(stream)
    if (isCut) return opened
    const { socket } = stream
    stream.socket = null
    stream.isOpen = false
    socket?.destroy()
    clearTimeout(stream.wait)
    this.#connect(stream)
    return opened
  }

  /** Resolves when the stream with this number is open. */
  opened(index: number): Promise<void> {
    const stream = this.#streams[index]!
    return stream.isOpen ? Promise.resolve() : this.#nextOpening(stream)
  }

  /** Gives every stream a cursor that no server knows; it is sent with the next connection. */
  forgetCursors() {
    for (const stream of this.#streams) stream.cursor = unknownCursor
  }

  /** Opens streams of more people. */
  async add(people: readonly Signed[]): Promise<void> {
    const added = people.map(({ token }) => newStream(token))
    this.#streams.push(...added)
    for (let from = 0; from < added.length; from += openingAtOnce) {
      const some = added.slice(from, from + openingAtOnce)
      for (const stream of some) this.#connect(stream)
      await this.until(() => some.every(({ isOpen }) => isOpen), 'a stream does not open')
    }
  }

  /** Closes every connection from the side of the client. */
  cut() {
    this.attempts = 0
    for (const stream of this.#streams) this.#lose(stream)
  }

  async until(isDone: () => boolean, failure: string, timeoutMs = 120_000): Promise<void> {
    for (const end = performance.now() + timeoutMs; !isDone(); await delay(10)) {
      if (performance.now() > end) throw new Error(`${failure}: ${this.open} open, ${[...this.refusals]}`)
    }
  }

  close() {
    this.#isClosing = true
    for (const { socket, wait } of this.#streams) {
      clearTimeout(wait)
      socket?.destroy()
    }
  }

  #nextOpening(stream: Stream): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = stream.onOpen
    stream.onOpen = () => {
      before?.()
      resolve()
    }
    return promise
  }

  #connect(stream: Stream) {
    this.attempts++
    const resuming: Record<string, string> = stream.cursor === undefined ? {} : { 'last-event-id': stream.cursor }
    let rest = ''
    let isAnswered = false
    const receive = (length: number) => {
      this.bytes += length
      const text = received.toString('latin1', 0, length)
      rest = rest === '' ? text : rest + text
      if (!isAnswered) {
        const head = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\n\r\n/.exec(rest)
        if (!head) return true
        if (head[1] !== '200') {
          this.refusals.set(head[1]!, (this.refusals.get(head[1]!) ?? 0) + 1)
          this.#lose(stream)
          return false
        }
        isAnswered = true
        rest = rest.slice(head[0].length)
      }
      const end = rest.lastIndexOf('\n\n')
      if (end < 0) return true
      this.#read(stream, rest.slice(0, end + 1))
      rest = rest.slice(end + 2)
      return true
    }
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: received, callback: receive },
    })
    stream.socket = socket
    const lose = () => {
      if (stream.socket === socket) this.#lose(stream)
    }
    socket.on('error', lose)
    socket.on('close', lose)
    socket.write(getOf(this.#path, { authorization: `Bearer ${stream.token}`, ...resuming }))
  }

  #read(stream: Stream, frames: string) {
    if (!stream.isOpen) {
      const retry = /retry: (\d+)/.exec(frames)
      if (retry) stream.retryMs = Number(retry[1])
      if (frames.includes('"CONNECTED"')) {
        if (stream.cursor !== undefined && stream.cursor !== unknownCursor && !frames.includes('"resumed":true'))
          this.notResumed++
        stream.isOpen = true
        stream.failures = 0
        stream.onOpen?.()
        stream.onOpen = undefined
      }
    }
    const { events, numbers, cursor } = this.#parse(frames)
    this.events += events
    for (const number of numbers) {
      if (number < stream.next) this.repeated++
      else {
        this.lost += number - stream.next
        stream.next = number + 1
      }
    }
    stream.cursor = cursor ?? stream.cursor
  }

  /** The next streams get the same text as this one, so the same text is parsed only once. */
  #parse(frames: string): Parsed {
    if (this.#parsed.frames === frames) return this.#parsed
    const at = frames.lastIndexOf('\nid: ')
    this.#parsed = {
      frames,
      events: frames.match(event)?.length ?? 0,
      numbers: Array.from(frames.matchAll(numbers), ([, number]) => Number(number)),
      cursor: at < 0 ? undefined : frames.slice(at + 5, frames.indexOf('\n', at + 5)),
    }
    return this.#parsed
  }

  /**
   * Connects again after the `retry` of this stream, which the server has randomized; after further failures at a
   * random time within an interval that doubles.
   */
  #lose(stream: Stream) {
    stream.socket?.destroy()
    stream.socket = null
    stream.isOpen = false
    if (this.#isClosing) return
    const { failures, retryMs } = stream
    const waitMs = failures === 0 ? retryMs : Math.random() * Math.min(maxWaitMs, retryMs * 2 ** failures)
    stream.failures++
    stream.wait = setTimeout(() => this.#connect(stream), waitMs)
  }
}
