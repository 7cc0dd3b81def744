import http from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { WireEvent } from '@parley/contract'
import { createParser } from 'eventsource-parser'
import { requireContract } from './event-contract.ts'
import { Waiters } from './waiters.ts'

export type Received = WireEvent & { cursor: string | undefined }
type EventType = WireEvent['type']
type Payload<T extends EventType> = Extract<WireEvent, { type: T }>['payload']
/** Fields that the payload must have, compared as JSON; or a predicate. */
export type Match<T extends EventType> = Partial<Payload<T>> | ((payload: Payload<T>) => boolean)

interface OpenStreamOptions {
  baseUrl: string
  token: string
  /** Resume after this cursor. */
  lastEventId?: string
  /** `scope`, `watch`, `presence`. */
  query?: Record<string, string>
  signal?: AbortSignal
  /** Do not compare events with the contract, because another version may send them. */
  ofAnyVersion?: boolean
  /** Called with every event when it arrives. */
  onReceived?: (event: Received) => void
}

/**
 * An open event stream of a client. It keeps all received events, compares them with the contract, and has methods that
 * wait for events.
 */
export class EventStream {
  readonly received: Received[] = []
  /** Resolves when the client or the server has ended the stream. */
  readonly ended: Promise<void>
  /** Stop and continue reading, like a client that is busy. */
  readonly pause: () => void
  readonly resume: () => void
  /** The cursor of the last event with a cursor. A stream can resume after it. */
  cursor: string | undefined
  #waiters = new Waiters()
  #request: http.ClientRequest
  #isEnded = false

  private constructor(
    request: http.ClientRequest,
    response: http.IncomingMessage,
    { onReceived = () => {}, ofAnyVersion = false }: OpenStreamOptions,
  ) {
    this.#request = request
    const parser = createParser({
      onEvent: ({ data, id }) => {
        if (id !== undefined) this.cursor = id
        const event = { ...(JSON.parse(data) as WireEvent), cursor: id }
        // An error here is not awaited, so it fails the whole run.
        if (!ofAnyVersion) requireContract(event)
        this.received.push(event)
        onReceived(event)
      },
    })
    this.pause = () => void response.pause()
    this.resume = () => void response.resume()
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      parser.feed(chunk)
      this.#waiters.look()
    })
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#isEnded = true
        this.#waiters.look()
        resolve()
      }
      response.on('close', end)
      response.on('error', end)
    })
  }

  /** Resolves once CONNECTED has come. @throws StreamRefused when the status is not 200. */
  static async open(options: OpenStreamOptions): Promise<EventStream> {
    const { baseUrl, token, lastEventId, query, signal } = options
    const headers = {
      accept: 'text/event-stream',
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    }
    const search = query ? `?${new URLSearchParams(query)}` : ''
    const request = http.get(`${baseUrl}/events${search}`, { headers, agent: false, signal })
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on('response', resolve)
      request.on('error', reject)
    })
    if (response.statusCode !== 200) throw await StreamRefused.from(response)
    const stream = new EventStream(request, response, options)
    request.on('error', () => {})
    await stream.waitFor('CONNECTED')
    return stream
  }

  get connected() {
    return this.received[0] as Extract<Received, { type: 'CONNECTED' }>
  }

  /** The first matching event, received already or later. @throws when the stream ends or `timeoutMs` passes before. */
  waitFor<T extends EventType>(
    type: T,
    match: Match<T> = {},
    timeoutMs = 20_000,
  ): Promise<Extract<Received, { type: T }>> {
    let seen = 0
    return this.#when(
      () => {
        while (seen < this.received.length) {
          const event = this.received[seen++]!
          if (event.type === type && matches(event.payload as Payload<T>, match)) {
            return event as Extract<Received, { type: T }>
          }
        }
        return undefined
      },
      () => `no ${type} ${JSON.stringify(match)} among ${JSON.stringify(this.received.map(({ type }) => type))}`,
      timeoutMs,
    )
  }

  /** All events of a type so far. */
  all<T extends EventType>(type: T): Payload<T>[] {
    return this.received.filter((event) => event.type === type).map(({ payload }) => payload as Payload<T>)
  }

  /** Resolves as soon as `check` returns true. It is called after every event. */
  until(check: () => boolean, explain: () => string, timeoutMs = 20_000): Promise<true> {
    return this.#when(() => check() || undefined, explain, timeoutMs)
  }

  close(): Promise<void> {
    this.#request.destroy()
    return this.ended
  }

  #when<T>(check: () => T | undefined, explain: () => string, timeoutMs: number): Promise<T> {
    const find = () => {
      const found = check()
      if (found === undefined && this.#isEnded) throw new Error(`the stream ended: ${explain()}`)
      return found
    }
    return this.#waiters.find(find, explain, timeoutMs)
  }
}

export class StreamRefused extends Error {
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`the stream was refused: ${status} ${body}`)
    this.status = status
    this.body = body
  }

  static async from(response: http.IncomingMessage) {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return new StreamRefused(response.statusCode ?? 0, Buffer.concat(chunks).toString())
  }
}

/** Compares values as JSON, in which the order of names is irrelevant. */
const isDeepEqual = (one: unknown, other: unknown) => isDeepStrictEqual(plain(one), plain(other))
const plain = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

function matches<P extends object>(payload: P, match: Partial<P> | ((payload: P) => boolean)): boolean {
  if (typeof match === 'function') return match(payload)
  return Object.entries(match).every(([key, value]) => isDeepEqual(payload[key as keyof P], value))
}
