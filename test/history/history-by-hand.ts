import type { Channel, Message, WireEvent } from '@parley/contract'
import { beforeEach } from 'vitest'
import { check } from './check.ts'
import type { Final } from './check-storage.ts'
import {
  type Act,
  createHistory,
  type History,
  type Operation,
  type Reading,
  recordDelivery,
  tagged,
} from './history.ts'

export const [ann, bob, eve, root] = ['ann', 'bob', 'eve', 'root'] as const

/** A history that a test writes by hand. Each step takes one tick, and operations have a beginning and an end. */
export function historyByHand() {
  const history = {} as History
  const final = {} as Final
  let now = 0
  let position = 0
  const tick = () => ++now

  beforeEach(() => {
    now = 0
    position = 0
    Object.assign(history, createHistory())
    for (const id of [ann, bob, eve, root]) history.people.set(id, { id, name: id, isAdmin: id === root })
    history.conversations.set('dm:1', [ann, bob])
    Object.assign(final, {
      stored: [],
      lastSeq: new Map(),
      listed: new Map(),
      replies: new Map(),
      channels: [],
      users: [ann, bob, eve, root].map((id) => ({ id, isAdmin: id === root })),
    })
  })

  /** The broken guarantees, each once. */
  const broken = () => [...new Set(check(history, final).map(({ promise }) => promise))]

  function begin(who: string, plan: Act | ((id: number) => Act)): Operation {
    const id = history.operations.length
    const act = typeof plan === 'function' ? plan(id) : plan
    const operation: Operation = {
      id,
      who,
      session: `${who}'s`,
      act,
      invoked: tick(),
      completed: Infinity,
      outcome: 'unknown',
      status: undefined,
      retriedFor: [],
      toldToWait: 0,
      told: {},
    }
    history.operations.push(operation)
    return operation
  }

  function end(operation: Operation, told: Operation['told'] = {}, status = 200): Operation {
    return Object.assign(operation, { completed: tick(), outcome: status === 200 ? 'ok' : 'refused', status, told })
  }

  const does = (who: string, plan: Act | ((id: number) => Act), told: Operation['told'] = {}) =>
    end(begin(who, plan), told)
  const isRefused = (who: string, plan: Act, status: number) => end(begin(who, plan), {}, status)

  function reads(user: string, name = user, watched?: readonly string[]): Reading {
    const reading: Reading = {
      name,
      user,
      session: `${user}'s`,
      watched,
      connections: [{ opened: tick(), after: undefined, resumed: false, ended: Infinity }],
      deliveries: [],
      refusals: [],
      isOver: false,
    }
    history.readings.push(reading)
    return reading
  }

  const nextCursor = () => `epoch.${++position}`
  const hears = (event: WireEvent, cursor: string, ...readers: Reading[]) => {
    for (const reader of readers) recordDelivery(history, reader, event, cursor, tick())
  }
  /** An event that all these readers receive, at a new cursor. */
  const allHear = (event: WireEvent, ...readers: Reading[]) => {
    const cursor = nextCursor()
    hears(event, cursor, ...readers)
    return cursor
  }

  const channelOf = (id: string, operation: Operation, isPrivate: boolean, members: string[]): Channel => ({
    id,
    name: id,
    topic: tagged(operation.id),
    isPrivate,
    members,
    memberCount: members.length,
    createdBy: operation.who,
    createdAt: 1,
    updatedAt: null,
  })

  /** A correct channel of ann; the readers in `told` receive its events. */
  function makes(id: string, { isPrivate = false, members = [] as string[], told = [] as Reading[] } = {}) {
    const operation = does(ann, (n) => ({ kind: 'create', name: id, topic: tagged(n), isPrivate, members }), { id })
    const channel = channelOf(id, operation, isPrivate, [ann, ...members])
    allHear({ type: 'NEW_CHANNEL', payload: { ...channel, lastSeq: 0 } }, ...told)
    final.channels.push(channel)
    final.listed.set(id, [])
    final.lastSeq.set(id, 0)
    return channel
  }

  function messageOf(id: string, place: string, seq: number, who: string, content: string): Message {
    return {
      id,
      channelId: place,
      threadId: null,
      seq,
      rev: 1,
      author: { id: who, userName: who },
      content,
      attachments: [],
      images: [],
      imageSizes: {},
      blocks: [],
      previews: [],
      quotedMessageId: null,
      mentions: [],
      pinnedAt: null,
      createdAt: 1,
      updatedAt: null,
      reactions: {},
      threadMeta: null,
    }
  }

  function store(message: Message) {
    final.stored.push({
      id: message.id,
      place: message.channelId,
      parent: message.threadId,
      seq: message.seq,
      content: message.content,
      isDeleted: false,
    })
    if (!final.listed.has(message.channelId)) final.listed.set(message.channelId, [])
    final.listed.get(message.channelId)!.push(message)
    final.lastSeq.set(message.channelId, Math.max(message.seq, final.lastSeq.get(message.channelId) ?? 0))
  }

  const send =
    (place: string) =>
    (id: number): Act => ({ kind: 'send', place, parent: null, content: tagged(id) })

  /** A message that is sent, acknowledged and stored; the readers in `told` receive it. */
  function says(who: string, place: string, seq: number, told: Reading[] = []) {
    const operation = begin(who, send(place))
    const message = messageOf(`m${operation.id}`, place, seq, who, tagged(operation.id))
    end(operation, { id: message.id, seq, rev: 1 })
    store(message)
    const cursor = allHear({ type: 'NEW_MESSAGE', payload: message }, ...told)
    return { operation, message, cursor, event: { type: 'NEW_MESSAGE', payload: message } as WireEvent }
  }

  const stored = (id: string) => final.stored.find((row) => row.id === id)!
  const listedMessage = (place: string, id: string) => final.listed.get(place)!.find((message) => message.id === id)!

  return {
    history,
    final,
    tick,
    broken,
    begin,
    end,
    does,
    isRefused,
    reads,
    nextCursor,
    hears,
    allHear,
    channelOf,
    makes,
    messageOf,
    store,
    says,
    stored,
    listedMessage,
    send,
  }
}
