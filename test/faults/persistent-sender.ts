import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Channel, Message } from '@parley/contract'
import type { Person } from '@parley/test'

/** The pause between two messages of a sender, like in a lively conversation. */
const pauseMs = 15
const answerPatienceMs = 20_000
let count = 0

/** A correct client: it sends a message again until it is acknowledged, with the same `Idempotency-Key`. */
export class PersistentSender {
  /** Every message that was acknowledged, in the order of sending. */
  readonly acknowledged: Message[] = []
  /** The number of repeated sends, by reason. */
  readonly repetitions = new Map<string, number>()
  /** Replies that are neither the message nor "try again". */
  readonly faults: string[] = []
  readonly channel: Channel
  /** Called with every acknowledged message. */
  readonly watchers = new Set<() => void>()
  #person: Person
  #name: string
  #stopped = false
  #running: Promise<void> | undefined

  constructor(person: Person, channel: Channel) {
    this.#person = person
    this.#name = `${person.userName} (${++count})`
    this.channel = channel
  }

  start(): void {
    this.#running = this.#keepSending()
  }

  /** Resolves once the last message is acknowledged. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #keepSending() {
    for (let n = 1; !this.#stopped; n++) {
      const message = await this.#send(`${this.#name} says ${n}`, randomUUID())
      if (!message) return
      this.acknowledged.push(message)
      for (const watcher of this.watchers) watcher()
      await delay(pauseMs)
    }
  }

  async #send(content: string, key: string): Promise<Message | undefined> {
    for (;;) {
      const outcome = await this.#try(content, key)
      if (typeof outcome === 'object') return outcome
      this.repetitions.set(outcome, (this.repetitions.get(outcome) ?? 0) + 1)
      if (this.faults.length > 20) return undefined
      await delay(50)
    }
  }

  /** The message, or the reason why it has to be sent again. */
  async #try(content: string, key: string): Promise<Message | string> {
    try {
      const response = await fetch(`${this.#person.baseUrl}/channels/${this.channel.id}/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#person.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ content }),
        signal: AbortSignal.timeout(answerPatienceMs),
      })
      const body = await response.text()
      if (response.status === 200) return (JSON.parse(body) as { message: Message }).message
      if (response.status !== 503 && response.status !== 409) this.faults.push(`${response.status} ${body}`)
      return String(response.status)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') this.faults.push(`no answer within ${answerPatienceMs} ms`)
      return 'connection lost'
    }
  }
}

export const countAcknowledged = (senders: readonly PersistentSender[]) =>
  senders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)

/** Resolves when this number of messages of all senders together was acknowledged. @throws after `timeoutMs`. */
export function untilAcknowledged(
  senders: readonly PersistentSender[],
  count: number,
  timeoutMs = 60_000,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (act: () => void) => {
      clearTimeout(timer)
      for (const { watchers } of senders) watchers.delete(look)
      act()
    }
    const look = () => {
      if (countAcknowledged(senders) >= count) finish(resolve)
    }
    const missing = () => `${count - countAcknowledged(senders)} sends are not acknowledged`
    const timer = setTimeout(() => finish(() => reject(new Error(missing()))), timeoutMs)
    for (const { watchers } of senders) watchers.add(look)
    look()
  })
}
