import { setTimeout as delay } from 'node:timers/promises'
import type { Message } from '@parley/contract'
import { EventStream, type Person, StreamRefused, Waiters } from '@parley/test'

/** A correct client: when its stream ends, it resumes after the last event. */
export class ResumingReader {
  readonly name: string
  /** New messages by channel, in the order of arrival, including repetitions. */
  readonly heard = new Map<string, Message[]>()
  /** The number of times that the stream was opened again. */
  reconnections = 0
  /** Violations: a stream that could not resume, or a refusal that is not "try again". */
  readonly faults: string[] = []
  #person: Person
  #cursor: string | undefined
  #stream: EventStream | undefined
  #stopped = false
  #waiters = new Waiters()
  #running: Promise<void> | undefined
  #ofAnyVersion: boolean

  /** `ofAnyVersion` as for `EventStream`. */
  constructor(person: Person, { ofAnyVersion = false } = {}) {
    this.#person = person
    this.#ofAnyVersion = ofAnyVersion
    this.name = person.userName
  }

  /** Resolves when the first stream is open. */
  async start(): Promise<void> {
    await this.#open()
    this.#running = this.#keepReading()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#stream?.close()
    await this.#running
  }

  count(channelId: string): number {
    return this.heard.get(channelId)?.length ?? 0
  }

  /** Resolves when `count` messages of the channel have arrived. @throws after `timeoutMs`. */
  untilHeard(channelId: string, count: number, timeoutMs: number): Promise<void> {
    return this.#waiters.until(
      () => this.count(channelId) >= count,
      () => `${this.name} has ${this.count(channelId)} of ${count} messages of ${channelId}`,
      timeoutMs,
    )
  }

  async #keepReading() {
    while (!this.#stopped) {
      await this.#stream?.ended
      if (this.#stopped) return
      try {
        await this.#open()
        this.reconnections++
      } catch (error) {
        if (error instanceof StreamRefused && error.status !== 503) this.faults.push(error.message)
        await delay(50)
      }
    }
  }

  async #open() {
    this.#stream = undefined
    this.#stream = await EventStream.open({
      baseUrl: this.#person.baseUrl,
      token: this.#person.token!,
      ofAnyVersion: this.#ofAnyVersion,
      lastEventId: this.#cursor,
      onReceived: ({ type, payload, cursor }) => {
        if (type === 'CONNECTED' && this.#cursor !== undefined && !payload.resumed) {
          this.faults.push(`not resumed behind ${this.#cursor}`)
        }
        this.#cursor = cursor ?? this.#cursor
        if (type !== 'NEW_MESSAGE') return
        if (!this.heard.has(payload.channelId)) this.heard.set(payload.channelId, [])
        this.heard.get(payload.channelId)!.push(payload)
        this.#waiters.look()
      },
    })
  }
}
