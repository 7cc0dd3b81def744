import { setTimeout as delay } from 'node:timers/promises'
import { EventStream, type Person, StreamRefused } from '@parley/test'
import { type History, type Reading, recordDelivery } from './history.ts'

/** A client of the event stream that resumes after its last event when the stream ends, and records all events. */
export class Reader {
  readonly reading: Reading
  #history: History
  #person: Person
  #session: string
  #cursor: string | undefined
  #stream: EventStream | undefined
  #pace = new AbortController()
  #awayMs = 0
  #heardOf = new Set<() => void>()
  #running: Promise<void> | undefined

  /** With `watched`, the stream only has these channels and those that the person has joined (`scope=joined`). */
  constructor(history: History, person: Person, name: string, session: string, watched?: readonly string[]) {
    this.#history = history
    this.#person = person
    this.#session = session
    this.reading = {
      name,
      user: person.id,
      session,
      watched,
      connections: [],
      deliveries: [],
      refusals: [],
      isOver: false,
    }
    history.readings.push(this.reading)
  }

  get session(): string {
    return this.#session
  }

  /** Resolves when the first stream is open, or the session is over. */
  async start(): Promise<void> {
    await this.#open()
    this.#running = this.#keepReading()
  }

  /** Disconnects, and connects again after this time, to any replica. */
  comeAndGo(awayMs: number): void {
    this.#awayMs = awayMs
    void this.#stream?.close()
  }

  /** Stops reading for a while. */
  async dawdle(milliseconds: number): Promise<void> {
    const stream = this.#stream
    stream?.pause()
    await delay(milliseconds, undefined, { signal: this.#pace.signal }).catch(() => {})
    stream?.resume()
  }

  /**
   * Resolves with true when an event with this cursor has arrived, and with false after `timeoutMs` or when no event
   * can arrive any more.
   */
  async hears(isIt: () => boolean, timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs
    while (!isIt()) {
      const left = until - performance.now()
      if (left <= 0 || this.reading.isOver) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#heardOf.add(resolve)
      await Promise.race([promise, delay(left, undefined, { ref: false })])
      this.#heardOf.delete(resolve)
    }
    return true
  }

  /** Disconnects permanently. */
  async stop(): Promise<void> {
    this.reading.isOver = true
    this.#pace.abort()
    await this.#stream?.close()
    await this.#running
  }

  async #keepReading() {
    while (!this.reading.isOver) {
      await this.#stream?.ended
      this.#stream = undefined
      if (this.#awayMs > 0) {
        await delay(this.#awayMs, undefined, { signal: this.#pace.signal }).catch(() => {})
        this.#awayMs = 0
      }
      if (this.reading.isOver) return
      if (!(await this.#open())) return
    }
  }

  /** Opens the stream again. Returns false when the session is over. */
  async #open(): Promise<boolean> {
    while (!this.reading.isOver) {
      const { connections, refusals } = this.reading
      try {
        const stream = await this.#connect()
        const connection = connections.at(-1)!
        void stream.ended.then(() => {
          connection.ended = performance.now()
        })
        this.#stream = stream
        return true
      } catch (error) {
        if (error instanceof StreamRefused) {
          refusals.push({ status: error.status, body: error.body, at: performance.now() })
          if (error.status === 401) return false
        }
        await delay(100)
      }
    }
    return false
  }

  #connect(): Promise<EventStream> {
    const after = this.#cursor
    const { watched } = this.reading
    let received: EventStream['received'] | undefined
    const opening = EventStream.open({
      baseUrl: this.#person.baseUrl,
      token: this.#person.token!,
      lastEventId: after,
      ...(watched && { query: { scope: 'joined', watch: watched.join() } }),
      signal: AbortSignal.timeout(2 ** 31 - 1),
      onReceived: ({ cursor, ...event }) => {
        const at = performance.now()
        if (event.type === 'CONNECTED') {
          const { resumed } = event.payload
          this.reading.connections.push({ opened: at, after, resumed, ended: Infinity })
        } else if (cursor !== undefined) {
          recordDelivery(this.#history, this.reading, event, cursor, at)
        }
        this.#cursor = cursor ?? this.#cursor
        // The recorded events need not be kept twice.
        received?.splice(0)
        for (const tell of this.#heardOf) tell()
      },
    })
    return opening.then((stream) => {
      received = stream.received
      return stream
    })
  }
}
