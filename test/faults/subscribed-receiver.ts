import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Message } from '@parley/contract'
import { type Person, Waiters } from '@parley/test'

/** The network of the receiver, for `integrations.allowedNetworks`. */
export const receiverNetwork = '127.0.0.1'

/** A program to which an event subscription sends new messages. It identifies events by `webhook-id`, as receivers should do. */
export class SubscribedReceiver {
  /** New messages by channel, in the order of their first arrival. */
  readonly heard = new Map<string, Message[]>()
  /** The number of repeated events. */
  repetitions = 0
  /** Violations: two ids for one message. */
  readonly faults: string[] = []
  #server: Server
  #ids = new Map<string, string>()
  #idOfMessage = new Map<string, string>()
  #waiters = new Waiters()
  #held: ServerResponse[] | undefined

  constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await text(request).catch(() => undefined)
      // The sender was killed during the request.
      if (body === undefined) return
      this.#take(JSON.parse(body))
      if (this.#held) this.#held.push(response)
      else response.writeHead(204).end()
      this.#waiters.look()
    })
  }

  /** Listens, and subscribes a new bot to new messages. Returns the subscription. */
  async start(admin: Person): Promise<{ id: string }> {
    this.#server.listen(0, receiverNetwork)
    await once(this.#server, 'listening')
    const url = `http://${receiverNetwork}:${(this.#server.address() as AddressInfo).port}/`
    const added = await admin.post('/bots', { userName: `receiver ${url}` })
    const response = await admin.post('/subscriptions', { botId: added.body.bot?.id, url, events: ['NEW_MESSAGE'] })
    if (response.status !== 200) throw new Error(`no subscription: ${JSON.stringify([added.body, response.body])}`)
    return response.body.subscription
  }

  async stop(): Promise<void> {
    this.release()
    this.#server.close()
    this.#server.closeAllConnections()
  }

  count(channelId: string): number {
    return this.heard.get(channelId)?.length ?? 0
  }

  /** Stops answering. Resolves when a request waits for its response. */
  hold(timeoutMs: number): Promise<void> {
    this.#held = []
    return this.#waiters.until(
      () => this.#held!.length > 0,
      () => 'no request came while answers were held back',
      timeoutMs,
    )
  }

  release(): void {
    for (const response of this.#held ?? []) response.writeHead(204).end()
    this.#held = undefined
  }

  /** Resolves when `count` messages of the channel have arrived. @throws after `timeoutMs`. */
  untilHeard(channelId: string, count: number, timeoutMs: number): Promise<void> {
    return this.#waiters.until(
      () => this.count(channelId) >= count,
      () => `the receiver has ${this.count(channelId)} of ${count} messages of ${channelId}`,
      timeoutMs,
    )
  }

  #take({ id, payload }: { id: string; payload: Message }) {
    const first = this.#idOfMessage.get(payload.id)
    if (first !== undefined && first !== id) this.faults.push(`message ${payload.seq} came as ${first} and as ${id}`)
    this.#idOfMessage.set(payload.id, id)
    if (this.#ids.has(id)) {
      this.repetitions++
      return
    }
    this.#ids.set(id, payload.id)
    if (!this.heard.has(payload.channelId)) this.heard.set(payload.channelId, [])
    this.heard.get(payload.channelId)!.push(payload)
  }
}
