import 'fake-indexeddb/auto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createClient,
  createSyncEngine,
  joinTabs,
  RequestFailed,
  type SyncEngine,
  storeInIndexedDb,
  storeInMemory,
  tokensInMemory,
} from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'
import type { Person } from '@parley/test'
import type { Chooser } from '../src/chooser.ts'

const settlePatienceMs = 30_000
/** The maximum delay of a reply. A delayed reply arrives after the events of later changes. */
const latestAnswerMs = 120

export type Scope = 'all' | 'joined'

interface CopyOptions {
  pageSize: number
  scope: Scope
  /** The name of the browser of this tab. All tabs of a browser have the same scope. */
  browser?: string | undefined
}

/**
 * The copy of a person, with connections that can be closed, delayed replies, and a cursor that can get lost. With a
 * browser it is one of its tabs: the tabs share a store and a stream, and a tab can be reloaded.
 */
export class KeptCopy {
  readonly person: Person
  copy: SyncEngine
  readonly pageSize: number
  /** Whether it follows every channel, or only the joined and the open ones. */
  readonly scope: Scope
  /** The name of the browser of this tab. */
  readonly browser: string | undefined
  /** The open channels and conversations, whose newest messages are kept. */
  readonly places = new Set<string>()
  readonly pinned = new Set<string>()
  /** The open threads: their parents, with the channel. */
  readonly threads = new Map<string, string>()
  readonly heard: WireEvent[] = []
  reconnections = 0
  reloads = 0
  #connections = new Set<AbortController>()
  #losesCursor = false

  #chooser: Chooser

  constructor(person: Person, { pageSize, scope, browser }: CopyOptions, chooser: Chooser) {
    this.#chooser = chooser
    this.scope = scope
    this.person = person
    this.pageSize = pageSize
    this.browser = browser
    this.copy = this.#start()
  }

  #start(): SyncEngine {
    const { baseUrl, token: accessToken, refreshToken } = this.person
    const client = createClient({
      baseUrl,
      tokens: tokensInMemory({ accessToken: accessToken!, refreshToken }),
      fetch: (input, init) => this.#fetch(String(input), init),
    })
    const engine = createSyncEngine({
      client,
      ...(this.browser === undefined
        ? { store: storeInMemory() }
        : { store: storeInIndexedDb(this.browser), tabs: joinTabs(this.browser) }),
      userId: this.person.id,
      scope: this.scope,
      pageSize: this.pageSize,
      onEvent: (event) => this.heard.push(event),
      onConnection: (isOpen) => {
        if (isOpen) return
        this.reconnections++
        setImmediate(() => engine.wake())
      },
      onStoreFailed: (error) => {
        throw error
      },
    })
    return engine
  }

  /** Reloads the page, or simulates a crash of the tab: data that was not stored yet is lost. */
  async reload(): Promise<void> {
    this.reloads++
    this.copy.close()
    this.copy = this.#start()
    await this.copy.ready
    for (const channelId of this.places) await this.open(channelId)
    for (const channelId of this.pinned) await this.openPins(channelId)
    for (const [id, channelId] of this.threads) await this.copy.openThread(channelId, id).catch(onlyRefusals)
  }

  /** A channel that the person may not read now stays open, because they may read it later. */
  async open(channelId: string): Promise<void> {
    this.places.add(channelId)
    await this.copy.openMessages(channelId).catch(onlyRefusals)
  }

  async openPins(channelId: string): Promise<void> {
    this.pinned.add(channelId)
    await this.copy.openPins(channelId).catch(onlyRefusals)
  }

  async openThread({ id, channelId }: Message): Promise<void> {
    this.threads.set(id, channelId)
    await this.copy.openThread(channelId, id).catch(onlyRefusals)
  }

  async loadOlder(channelId: string): Promise<void> {
    await this.copy.loadOlder(channelId).catch(onlyRefusals)
  }

  /** Closes the stream. It reconnects automatically; with `lost`, without a cursor that the server knows. */
  cut({ lost = false } = {}) {
    this.#losesCursor ||= lost
    for (const connection of this.#connections) connection.abort()
    this.#connections.clear()
  }

  close = () => this.copy.close()

  /**
   * Resolves when the copy has reached an event that everybody receives. It may have received the event, or have
   * fetched everything after it: in both cases its cursor is not before that of the event.
   */
  async settled(end: string): Promise<void> {
    const until = performance.now() + settlePatienceMs
    const hasCome = () => this.copy.cursor !== undefined && positionOf(this.copy.cursor) >= positionOf(end)
    while (!hasCome() || !this.copy.isSettled) {
      if (performance.now() > until) {
        const why = hasCome() ? 'is still fetching' : `has come to ${this.copy.cursor} of ${end}`
        throw new Error(`the copy of ${this.person.userName} ${why} after ${settlePatienceMs} ms`)
      }
      await delay(10)
    }
  }

  async #answer(url: string, init: RequestInit): Promise<Response> {
    const response = await fetch(url, init)
    if (this.#chooser.chance(0.5)) await delay(this.#chooser.below(latestAnswerMs))
    return response
  }

  async #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    if (new URL(url).pathname !== '/events') return this.#answer(url, init)
    const connection = new AbortController()
    this.#connections.add(connection)
    const headers = new Headers(init.headers)
    if (this.#losesCursor && headers.has('last-event-id')) headers.set('last-event-id', 'of-another-epoch.7')
    this.#losesCursor = false
    return fetch(url, { ...init, headers, signal: AbortSignal.any([init.signal!, connection.signal]) })
  }
}

/** The position in `<epoch>.<position>`. This test never begins a new epoch. */
const positionOf = (cursor: string) => Number(cursor.split('.')[1])

/** The message may have been deleted, or the person may no longer read it. */
function onlyRefusals(error: unknown) {
  if (!(error instanceof RequestFailed && [403, 404].includes(error.status))) throw error
}
