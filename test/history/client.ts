import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Person } from '@parley/test'
import { Agent, request } from 'undici'
import type { Act, History, Operation, Told } from './history.ts'

/** The time limit of one request. It is much shorter than the time for which a replica may be frozen. */
const answerPatienceMs = 3_000
const pauseMs = 100

/** Counts the reasons why operations were tried again or stopped. */
export type Troubles = Map<string, number>

interface Ask {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: object
}

/** A client that runs one operation after the other and records the results. */
export class Client {
  readonly person: Person
  readonly session: string
  #history: History
  #troubles: Troubles
  #stopping: AbortSignal
  /** It has its own connections, because a load balancer distributes connections and not requests. */
  #agent = new Agent({ connections: 4, keepAliveTimeout: 2_000 })

  constructor(history: History, person: Person, session: string, troubles: Troubles, stopping: AbortSignal) {
    this.#history = history
    this.person = person
    this.session = session
    this.#troubles = troubles
    this.#stopping = stopping
  }

  /**
   * Runs the operation of `plan`, which gets the operation's number. A message is sent again with its key until there
   * is a reply, and a listing is requested again. Other operations could then be executed twice, so they are sent only
   * once.
   */
  async does(plan: (id: number) => Act): Promise<Operation> {
    const { operations } = this.#history
    const id = operations.length
    const operation: Operation = {
      id,
      who: this.person.id,
      session: this.session,
      act: plan(id),
      invoked: performance.now(),
      completed: Infinity,
      outcome: 'unknown',
      status: undefined,
      retriedFor: [],
      toldToWait: 0,
      told: {},
    }
    operations.push(operation)
    const ask = askOf(operation.act)
    const isRepeatable = operation.act.kind === 'send' || operation.act.kind === 'list'
    const key = operation.act.kind === 'send' ? { 'idempotency-key': randomUUID() } : {}

    for (let attempt = 1; ; attempt++) {
      const answer = await this.#ask(ask, key)
      const isClear = answer.status !== undefined && answer.status !== 503 && answer.status !== 409
      if (isClear) {
        operation.status = answer.status
        if (answer.status === 200) {
          settle(operation, 'ok', toldBy(operation.act, answer.body as Reply))
        } else if (attempt === 1 || operation.act.kind === 'list') {
          settle(operation, 'refused', {})
        }
        // The last attempt was refused, but an earlier one may have taken effect.
        return operation
      }
      const why = answer.status === undefined ? answer.trouble : String(answer.status)
      this.#troubles.set(why, (this.#troubles.get(why) ?? 0) + 1)
      operation.status = answer.status
      if (!isRepeatable || this.#stopping.aborted) return operation
      if (answer.status === 409) operation.toldToWait++
      else operation.retriedFor.push(`${why} at ${Math.round(performance.now())}`)
      await delay(pauseMs)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #ask({ method, path, body }: Ask, headers: object) {
    try {
      const response = await request(this.person.baseUrl + path, {
        dispatcher: this.#agent,
        method,
        headers: {
          authorization: `Bearer ${this.person.token}`,
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body ? JSON.stringify(body) : null,
        signal: AbortSignal.timeout(answerPatienceMs),
      })
      return { status: response.statusCode, body: (await response.body.json()) as object }
    } catch (error) {
      const isLate = (error as Error).name === 'TimeoutError'
      return { status: undefined, trouble: isLate ? 'no answer in time' : 'connection lost' }
    }
  }
}

function settle(operation: Operation, outcome: 'ok' | 'refused', told: Told) {
  Object.assign(operation, { outcome, told, completed: performance.now() })
}

const messagesPath = (place: string) =>
  place.startsWith('dm:') ? `/conversations/${place}/messages` : `/channels/${place}/messages`

function askOf(act: Act): Ask {
  switch (act.kind) {
    case 'send': {
      const path = act.parent === null ? messagesPath(act.place) : `/messages/${act.parent}/thread`
      return { method: 'POST', path, body: { content: act.content } }
    }
    case 'list':
      return { method: 'GET', path: messagesPath(act.place) }
    case 'edit':
      return { method: 'PUT', path: pathOf(act.place, act.message), body: { content: act.content } }
    case 'delete':
      return { method: 'DELETE', path: pathOf(act.place, act.message) }
    case 'pin':
      return { method: 'POST', path: `/messages/${act.message}/pin` }
    case 'unpin':
      return { method: 'DELETE', path: `/messages/${act.message}/pin` }
    case 'react':
      return { method: 'POST', path: `/messages/${act.message}/reactions`, body: { reaction: act.reaction } }
    case 'unreact':
      return { method: 'DELETE', path: `/messages/${act.message}/reactions`, body: { reaction: act.reaction } }
    case 'create': {
      const { kind: _, ...body } = act
      return { method: 'POST', path: '/channels', body }
    }
    case 'change': {
      const { kind: _, place, ...body } = act
      return { method: 'PUT', path: `/channels/${place}`, body }
    }
    case 'join':
    case 'leave':
      return { method: 'POST', path: `/channels/${act.place}/${act.kind}` }
    case 'drop':
      return { method: 'DELETE', path: `/channels/${act.place}` }
    case 'role':
      return { method: 'PUT', path: `/users/${act.user}/role`, body: { role: act.isAdmin ? 'admin' : 'user' } }
    case 'deactivate':
      return { method: 'PUT', path: `/users/${act.user}/active`, body: { isActive: false } }
    case 'group':
      return {
        method: 'PUT',
        path: `/groups/${act.group}/members`,
        body: act.isIn ? { add: [act.user] } : { remove: [act.user] },
      }
    case 'remove':
      return { method: 'DELETE', path: `/users/${act.user}` }
    case 'logout':
      return { method: 'POST', path: '/auth/logout' }
  }
}

const pathOf = (place: string, message: string) =>
  place.startsWith('dm:') ? `${messagesPath(place)}/${message}` : `/messages/${message}`

interface Made {
  id: string
  seq: number
  rev: number
}
interface Reply {
  message?: Made
  reply?: Made
  messages?: Made[]
  channel?: { id: string }
}

function toldBy({ kind }: Act, { message, reply, messages, channel }: Reply): Told {
  if (kind === 'list') return { listed: messages!.map(({ id, seq }) => ({ id, seq })) }
  const made = reply ?? message
  if (made) return { id: kind === 'send' ? made.id : undefined, seq: made.seq, rev: made.rev }
  return channel && kind === 'create' ? { id: channel.id } : {}
}
