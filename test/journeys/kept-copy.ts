import { type Copy, createClient, createCopy, tokensInMemory } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect } from 'vitest'

/** A copy of somebody's, over connections that can be cut and a cursor that can get lost. */
export class KeptCopy {
  readonly person: Person
  readonly copy: Copy
  readonly pageSize: number
  readonly places = new Set<string>()
  readonly pinned = new Set<string>()
  /** Parents of threads, with their channel. */
  readonly threads = new Map<string, string>()
  readonly heard: WireEvent[] = []
  reconnections = 0
  #connections = new Set<AbortController>()
  #losesCursor = false

  constructor(person: Person, pageSize = 200) {
    this.person = person
    this.pageSize = pageSize
    const { baseUrl, token: accessToken, refreshToken } = person
    const client = createClient({
      baseUrl,
      tokens: tokensInMemory({ accessToken: accessToken!, refreshToken }),
      fetch: (input, init) => this.#fetch(String(input), init),
    })
    this.copy = createCopy({
      client,
      pageSize,
      onEvent: (event) => this.heard.push(event),
      onConnection: (isOpen) => {
        if (isOpen) return
        this.reconnections++
        setImmediate(() => this.copy.wake())
      },
    })
  }

  /** Whoever may not read it now keeps it open: they may later. */
  async open(channelId: string): Promise<void> {
    this.places.add(channelId)
    await this.copy.openMessages(channelId).catch(() => {})
  }

  async openPins(channelId: string): Promise<void> {
    this.pinned.add(channelId)
    await this.copy.openPins(channelId).catch(() => {})
  }

  async openThread({ id, channelId }: Message): Promise<void> {
    this.threads.set(id, channelId)
    await this.copy.openThread(channelId, id).catch(() => {})
  }

  /** Cuts the stream. It comes back by itself, `lost` without a cursor that the server knows. */
  cut({ lost = false } = {}) {
    this.#losesCursor ||= lost
    for (const connection of this.#connections) connection.abort()
    this.#connections.clear()
  }

  close = () => this.copy.close()

  /** Resolves once this message has been heard of, and nothing is being fetched any more. */
  async settled({ id }: Message): Promise<void> {
    const isSettled = () =>
      this.copy.isSettled && this.heard.some((event) => event.type === 'NEW_MESSAGE' && event.payload.id === id)
    await expect.poll(isSettled, { timeout: 30_000, interval: 20 }).toBe(true)
  }

  async #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    if (!url.endsWith('/events')) return fetch(url, init)
    const connection = new AbortController()
    this.#connections.add(connection)
    const headers = new Headers(init.headers)
    if (this.#losesCursor && headers.has('last-event-id')) headers.set('last-event-id', 'of-another-epoch.7')
    this.#losesCursor = false
    return fetch(url, { ...init, headers, signal: AbortSignal.any([init.signal!, connection.signal]) })
  }
}

const byId = <T extends { id: string }>(list: readonly T[]) =>
  list.toSorted((one, other) => (one.id < other.id ? -1 : 1))

/** Everything the copy has, and the same as the server answers it now. */
export async function compare({ copy, person, pageSize, ...opened }: KeptCopy) {
  const get = async (path: string) => (await person.get(path)).body
  const [{ users }, { channels }, { conversations }, settings, { webhooks = [] }] = await Promise.all(
    ['/users', '/channels', '/conversations', '/server/settings', '/webhooks'].map(get),
  )
  const readable = new Set<string>([...channels, ...conversations].map(({ id }: { id: string }) => id))
  const kept: Record<string, unknown> = {}
  const fresh: Record<string, unknown> = {}
  const look = (what: string, ours: unknown, theirs: unknown) => {
    kept[what] = ours
    fresh[what] = theirs
  }
  look('users', byId(copy.users()), byId(users))
  look('channels', byId(copy.channels()), byId(channels))
  look('conversations', byId(copy.conversations()), byId(conversations))
  look('settings', copy.settings(), settings)
  look('webhooks', byId(copy.webhooks()), byId(webhooks))

  for (const id of opened.places) {
    const path = id.startsWith('dm:') ? `/conversations/${id}/messages` : `/channels/${id}/messages`
    const listed: Message[] = readable.has(id) ? (await get(`${path}?limit=200`)).messages : []
    const ours = copy.messages(id)!
    look(`messages of ${id}`, ours, pageSize < 200 ? listed.slice(Math.max(0, listed.length - ours.length)) : listed)
  }
  for (const id of opened.pinned) {
    look(`pins of ${id}`, copy.pins(id), readable.has(id) ? (await get(`/channels/${id}/pins`)).messages : [])
  }
  for (const [parentId, channelId] of opened.threads) {
    const { replies = [] } = await get(`/messages/${parentId}/thread?limit=200`)
    const ours = copy.replies(channelId, parentId)!
    look(
      `replies to ${parentId}`,
      ours,
      pageSize < 200 ? replies.slice(Math.max(0, replies.length - ours.length)) : replies,
    )
  }
  return { kept, fresh }
}
