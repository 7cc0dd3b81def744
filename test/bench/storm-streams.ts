import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getOf } from './parley-streams.ts'
import type { Signed } from './people.ts'

const openingAtOnce = 64
const maxWaitMs = 30_000
const numbers = /no\. (\d{9})/g
const event = /^data: /gm
const unknownCursor = 'another-epoch.1'

/** One stream as a client should keep it: it comes back behind its last event, after the time the server asked for. */
interface Stream {
  token: string
  socket: Socket | null
  cursor: string | undefined
  /** Number of the message that comes next, counted from 0. */
  next: number
  isOpen: boolean
  /** Told once, when it is open the next time. */
  onOpen: (() => void) | undefined
  /** Until it connects again. */
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

/** Where every socket's bytes come in; they are read before the next ones come. */
const received = Buffer.allocUnsafeSlow(256 * 1024)

/** Streams that find out by themselves whether each of them gets each numbered message once, in order. */
export class StormStreams {
  /** Since the last cut. */
  attempts = 0
  /** Answers by status, but 200. */
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

  /** How many messages the stream that is furthest behind has. */
  get complete() {
    return this.#streams.reduce((least, { next }) => Math.min(least, next), Number.POSITIVE_INFINITY)
  }

  /** Cuts one connection and makes a new one at once; resolves when the stream goes on. */
  reopen(index: number): Promise<void> {
    const stream = this.#streams[index]!
    // Whoever waits for the stream already has cut it.
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

  /** Resolves when the stream with this number is open, or is open again. */
  opened(index: number): Promise<void> {
    const stream = this.#streams[index]!
    return stream.isOpen ? Promise.resolve() : this.#nextOpening(stream)
  }

  /** Every stream comes back with a cursor that no server knows. */
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

  /** Cuts every connection at this end. */
  cut() {
    this.attempts = 0
    for (const stream of this.#streams) this.#lose(stream)
  }

  async until(isDone: () => boolean, failure: string, patienceMs = 120_000): Promise<void> {
    for (const end = performance.now() + patienceMs; !isDone(); await delay(10)) {
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

  /** What one stream has got, the next ones get too: the same text is taken apart once. */
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

  /** Back after the `retry` of this stream, which the server has spread; after further failures at random, later and later. */
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
