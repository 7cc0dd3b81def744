import type { Channel, Message, WireEvent } from '@parley/contract'
import { beforeEach, describe, expect, test } from 'vitest'
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

/** A history by hand: one tick for each thing that happens, operations with a beginning and an end. */
let history: History
let final: Final
let now: number
let position: number

const [ann, bob, eve, root] = ['ann', 'bob', 'eve', 'root'] as const

beforeEach(() => {
  history = createHistory()
  now = 0
  position = 0
  for (const id of [ann, bob, eve, root]) history.people.set(id, { id, name: id, isAdmin: id === root })
  history.conversations.set('dm:1', [ann, bob])
  final = {
    stored: [],
    lastSeq: new Map(),
    listed: new Map(),
    replies: new Map(),
    channels: [],
    users: [ann, bob, eve, root].map((id) => ({ id, isAdmin: id === root })),
  }
})

const broken = () => [...new Set(check(history, final).map(({ promise }) => promise))]

function begin(who: string, plan: Act | ((id: number) => Act)): Operation {
  const id = history.operations.length
  const act = typeof plan === 'function' ? plan(id) : plan
  const operation: Operation = {
    id,
    who,
    session: `${who}'s`,
    act,
    invoked: ++now,
    completed: Infinity,
    outcome: 'unknown',
    status: undefined,
    attempts: 1,
    told: {},
  }
  history.operations.push(operation)
  return operation
}

function end(operation: Operation, told: Operation['told'] = {}, status = 200): Operation {
  return Object.assign(operation, { completed: ++now, outcome: status === 200 ? 'ok' : 'refused', status, told })
}

const does = (who: string, plan: Act | ((id: number) => Act), told: Operation['told'] = {}) =>
  end(begin(who, plan), told)
const isRefused = (who: string, plan: Act, status: number) => end(begin(who, plan), {}, status)

function reads(user: string, name = user): Reading {
  const reading: Reading = {
    name,
    user,
    session: `${user}'s`,
    connections: [{ opened: ++now, after: undefined, resumed: false, ended: Infinity }],
    deliveries: [],
    refusals: [],
    isOver: false,
  }
  history.readings.push(reading)
  return reading
}

const nextCursor = () => `epoch.${++position}`
const hears = (event: WireEvent, cursor: string, ...readers: Reading[]) => {
  for (const reader of readers) recordDelivery(history, reader, event, cursor, ++now)
}
/** An event that all of them hear, at a new cursor. */
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
  createdBy: operation.who,
  createdAt: 1,
  updatedAt: null,
})

/** A channel of ann, with everything in its place; `told` are those who hear of it. */
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

/** Somebody sends a message that is acknowledged and stored; `told` hear it. */
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

test('a history in which all is well has nothing to complain of', () => {
  const [toAnn, toBob, toEve] = [reads(ann), reads(bob), reads(eve)]
  makes('open', { told: [toAnn, toBob, toEve] })
  makes('secret', { isPrivate: true, members: [bob], told: [toAnn, toBob] })
  says(ann, 'open', 1, [toAnn, toBob, toEve])
  says(bob, 'secret', 1, [toAnn, toBob])
  isRefused(eve, { kind: 'list', place: 'secret' }, 403)
  says(ann, 'open', 2, [toAnn, toBob, toEve])
  expect(check(history, final)).toEqual([])
})

describe('storage', () => {
  beforeEach(() => void makes('open'))

  test('an acknowledged message that is not there', () => {
    const { message } = says(ann, 'open', 1)
    final.stored = []
    final.listed.set('open', [])
    final.lastSeq.set('open', 0)
    expect(broken()).toEqual(['what was acknowledged is stored'])
    expect(message.seq).toBe(1)
  })

  test('an acknowledged message at another place in the order', () => {
    const { operation } = says(ann, 'open', 1)
    operation.told.seq = 2
    expect(broken()).toContain('what was acknowledged is stored')
  })

  test('a gap, and a double, in seq', () => {
    says(ann, 'open', 1)
    says(ann, 'open', 3)
    expect(broken()).toEqual(['seq has no gaps and no doubles'])
    stored('m2').seq = 1
    expect(broken()).toContain('seq has no gaps and no doubles')
  })

  test('a counter that is ahead of the messages', () => {
    says(ann, 'open', 1)
    final.lastSeq.set('open', 2)
    expect(broken()).toEqual(['seq has no gaps and no doubles'])
  })

  test('one operation, two messages', () => {
    const { message } = says(ann, 'open', 1)
    store({ ...message, id: 'again', seq: 2 })
    expect(broken()).toEqual(['a message is stored once'])
  })

  test('a message without an answer is there once, or not at all, but not twice', () => {
    const { id } = begin(ann, send('open'))
    expect(broken()).toEqual([])
    store(messageOf('a', 'open', 1, ann, tagged(id)))
    expect(broken()).toEqual([])
    store(messageOf('b', 'open', 2, ann, tagged(id)))
    expect(broken()).toEqual(['a message is stored once'])
  })

  test('a refused message that is there all the same', () => {
    const channel = makes('secret', { isPrivate: true })
    const { id } = isRefused(eve, send(channel.id)(history.operations.length), 403)
    store(messageOf('a', channel.id, 1, eve, tagged(id)))
    expect(broken()).toEqual(['what was refused leaves nothing'])
  })

  test('a message that nobody sent', () => {
    store(messageOf('a', 'open', 1, ann, 'what?'))
    expect(broken()).toEqual(['nothing comes from nowhere'])
  })

  test('a listing that is not what is stored', () => {
    says(ann, 'open', 1)
    final.listed.set('open', [])
    expect(broken()).toEqual(['what is listed is what is stored'])
  })

  test.each([
    ['edit', (id: number, message: string): Act => ({ kind: 'edit', place: 'open', message, content: tagged(id) })],
    ['pin', (_: number, message: string): Act => ({ kind: 'pin', place: 'open', message })],
    ['react', (_: number, message: string): Act => ({ kind: 'react', place: 'open', message, reaction: 'r' })],
    ['delete', (_: number, message: string): Act => ({ kind: 'delete', place: 'open', message })],
  ] as const)('an acknowledged %s without effect; one without an answer may have none', (_, plan) => {
    const { message } = says(ann, 'open', 1)
    begin(ann, (id) => plan(id, message.id))
    expect(broken()).toEqual([])
    does(ann, (id) => plan(id, message.id), { rev: 1 })
    expect(broken()).toEqual(['the last acknowledged change stands'])
  })

  test('an edit that was overwritten by an earlier one', () => {
    const { message } = says(ann, 'open', 1)
    const edit = (id: number): Act => ({ kind: 'edit', place: 'open', message: message.id, content: tagged(id) })
    const first = does(ann, edit, { rev: 2 })
    const second = does(ann, edit, { rev: 3 })
    const ends = (operation: Operation) => {
      const content = tagged(operation.id)
      stored(message.id).content = content
      Object.assign(listedMessage('open', message.id), { content, rev: 3 })
      return broken()
    }
    expect(ends(first)).toEqual(['the last acknowledged change stands'])
    expect(ends(second)).toEqual([])
    listedMessage('open', message.id).rev = 2
    expect(broken()).toEqual(['rev only grows'])
  })

  test('a change of a channel that was lost; either of two at the same time may stand', () => {
    const change =
      (isPrivate: boolean) =>
      (id: number): Act => ({ kind: 'change', place: 'open', topic: tagged(id), isPrivate })
    const one = begin(ann, change(true))
    const other = begin(root, change(false))
    end(one)
    end(other)
    expect(broken()).toEqual([])
    does(ann, change(true))
    expect(broken()).toEqual(['the last acknowledged change stands'])
  })

  test('a member who should not be one, an admin who is none any more, somebody removed who is still here', () => {
    does(root, { kind: 'role', user: bob, isAdmin: true })
    expect(broken()).toEqual(['the last acknowledged change stands'])
    final.users.find(({ id }) => id === bob)!.isAdmin = true
    expect(broken()).toEqual([])
    final.channels[0]!.members.push(eve)
    expect(broken()).toEqual(['the last acknowledged change stands'])
    final.channels[0]!.members.pop()
    does(root, { kind: 'remove', user: eve })
    expect(broken()).toEqual(['the last acknowledged change stands'])
  })
})

describe('answers', () => {
  test('somebody without access is let in', () => {
    makes('secret', { isPrivate: true, members: [bob] })
    does(eve, { kind: 'list', place: 'secret' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts where they have no access'])
  })

  test('a removed member is let in after the removal was acknowledged, not while it is under way', () => {
    const channel = makes('secret', { isPrivate: true, members: [bob] })
    channel.members = [ann]
    const removal = begin(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), members: [] }))
    does(bob, { kind: 'list', place: 'secret' }, { listed: [] })
    isRefused(bob, { kind: 'list', place: 'secret' }, 403)
    end(removal)
    expect(broken()).toEqual([])
    does(bob, { kind: 'list', place: 'secret' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts where they have no access'])
  })

  test.each([400, 401, 403, 404, 500])('a %i without a reason', (status) => {
    makes('open')
    isRefused(ann, { kind: 'list', place: 'open' }, status)
    expect(broken()).toEqual(['nobody is refused without a reason'])
  })

  test('somebody goes on after logging out', () => {
    makes('open')
    does(ann, { kind: 'logout', session: `${ann}'s` })
    does(ann, { kind: 'list', place: 'open' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts with a session that is over'])
  })

  test('somebody acts in a channel that was deleted', () => {
    makes('open')
    does(ann, { kind: 'drop', place: 'open' })
    final.channels = []
    final.listed.clear()
    final.lastSeq.clear()
    does(bob, { kind: 'list', place: 'open' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts in a deleted channel'])
  })

  test('somebody who is no admin does what is for admins', () => {
    does(bob, { kind: 'role', user: eve, isAdmin: false })
    expect(broken()).toEqual(['only admins do what is for admins'])
  })

  test('a listing without what was acknowledged, with what was deleted, out of order', () => {
    makes('open')
    const [one, two] = [says(ann, 'open', 1), says(ann, 'open', 2)]
    const entry = ({ message: { id, seq } }: typeof one) => ({ id, seq })
    const list = does(bob, { kind: 'list', place: 'open' }, { listed: [entry(one)] })
    expect(broken()).toEqual(['what was acknowledged is listed'])
    list.told.listed = [entry(two), entry(one)]
    expect(broken()).toEqual(['a listing is in the order of seq'])
    list.told.listed = [entry(one), entry(two)]
    expect(broken()).toEqual([])
    does(ann, { kind: 'delete', place: 'open', message: one.message.id })
    stored(one.message.id).isDeleted = true
    final.listed.get('open')!.shift()
    does(bob, { kind: 'list', place: 'open' }, { listed: [entry(one), entry(two)] })
    expect(broken()).toEqual(['what was deleted is not listed'])
  })
})

describe('deliveries', () => {
  let toAnn: Reading
  let toBob: Reading
  let toEve: Reading
  const everybody = () => [toAnn, toBob, toEve]

  beforeEach(() => {
    toAnn = reads(ann)
    toBob = reads(bob)
    toEve = reads(eve)
    makes('open', { told: everybody() })
    makes('secret', { isPrivate: true, members: [bob], told: [toAnn, toBob] })
  })

  test('a message that one reader missed, though they heard what came after', () => {
    says(ann, 'open', 1, [toAnn, toBob])
    says(ann, 'open', 2, everybody())
    expect(broken()).toEqual(['everybody hears what is for them', 'events and listings agree'])
  })

  test('the last message of all that one reader missed', () => {
    says(ann, 'open', 1, [toAnn, toBob])
    expect(broken()).toContain('everybody hears what is for them')
  })

  test('a private message that reached somebody else, and a direct one', () => {
    says(ann, 'secret', 1, everybody())
    expect(broken()).toEqual(['nobody hears what is not for them'])
    history.readings.splice(2, 1)
    expect(broken()).toEqual([])
    const toRoot = reads(root)
    const { message, operation } = says(ann, 'dm:1', 1)
    history.events.clear()
    for (const reading of history.readings) reading.deliveries = []
    operation.invoked = ++now
    allHear({ type: 'NEW_DM_MESSAGE', payload: { ...message, participants: [ann, bob] } }, toRoot)
    expect(broken()).toContain('nobody hears what is not for them')
  })

  const removesBob = () => begin(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), members: [] }))
  const bobIsGone = (removal: Operation, told: Reading[]) => {
    final.channels[1] = channelOf('secret', removal, true, [ann])
    allHear({ type: 'DELETE_CHANNEL', payload: { id: 'secret', name: 'secret' } }, ...told)
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[1] }, toAnn)
  }

  test('what was said while a member was being removed may reach them or not, what was said later may not', () => {
    const removal = removesBob()
    says(ann, 'secret', 1, [toAnn, toBob])
    says(ann, 'secret', 2, [toAnn])
    end(removal)
    bobIsGone(removal, [toBob])
    expect(broken()).toEqual([])
    says(ann, 'secret', 3, [toAnn, toBob])
    expect(broken()).toEqual(['nobody hears what is not for them'])
  })

  test('who was removed, and who was added, without being told', () => {
    bobIsGone(end(removesBob()), [])
    expect(broken()).toEqual(['who loses a channel is told so'])
    history.readings.splice(1, 1)
    expect(broken()).toEqual([])
    const addition = does(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), members: [eve] }))
    final.channels[1] = channelOf('secret', addition, true, [ann, eve])
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[1] }, toAnn, toEve)
    expect(broken()).toEqual(['who gains a channel is told so'])
  })

  test('somebody demoted hears on; as long as they were admin they had to', () => {
    const promotion = does(root, { kind: 'role', user: eve, isAdmin: true })
    says(ann, 'secret', 1, [toAnn, toBob])
    says(ann, 'open', 1, everybody())
    expect(broken()).toContain('everybody hears what is for them')
    expect(promotion.outcome).toBe('ok')
    history.operations.at(-2)!.act = { kind: 'list', place: 'open' }
    does(root, { kind: 'role', user: eve, isAdmin: false })
    says(ann, 'secret', 2, everybody())
    expect(broken()).toContain('nobody hears what is not for them')
  })

  test('an event twice on one connection; on the next one only as the same event', () => {
    const { event, cursor } = says(ann, 'open', 1, everybody())
    hears(event, cursor, toEve)
    expect(broken()).toEqual(['no event comes twice'])
    toEve.deliveries.pop()
    toEve.connections.push({ opened: ++now, after: 'epoch.1', resumed: true, ended: Infinity })
    hears(event, cursor, toEve)
    expect(broken()).toEqual([])
    toEve.deliveries.pop()
    hears(event, nextCursor(), toEve)
    expect(broken()).toContain('no event comes twice')
  })

  test('messages out of order in a channel', () => {
    const one = begin(ann, send('open'))
    const two = begin(bob, send('open'))
    const [first, second] = [one, two].map(({ id, who }, index) =>
      messageOf(`m${id}`, 'open', index + 1, who, tagged(id)),
    )
    end(two, { id: second!.id, seq: 2 })
    end(one, { id: first!.id, seq: 1 })
    store(first!)
    store(second!)
    allHear({ type: 'NEW_MESSAGE', payload: second! }, ...everybody())
    allHear({ type: 'NEW_MESSAGE', payload: first! }, ...everybody())
    expect(broken()).toEqual(['messages come in the order of seq'])
  })

  test('events of two channels in another order than they were acknowledged in', () => {
    const one = says(ann, 'open', 1)
    says(ann, 'secret', 1, [toAnn, toBob])
    hears(one.event, one.cursor, toAnn)
    history.readings = [toAnn]
    expect(broken()).toEqual(['what was acknowledged before comes before'])
  })

  test('two readers who saw two events in opposite orders', () => {
    const one = begin(ann, send('open'))
    const two = begin(ann, send('dm:1'))
    const [open, direct] = [
      messageOf('m1', 'open', 1, ann, tagged(one.id)),
      messageOf('m2', 'dm:1', 1, ann, tagged(two.id)),
    ]
    end(one, { id: 'm1', seq: 1 })
    end(two, { id: 'm2', seq: 1 })
    store(open)
    store(direct)
    const [here, there] = [nextCursor(), nextCursor()]
    const events: WireEvent[] = [
      { type: 'NEW_MESSAGE', payload: open },
      { type: 'NEW_DM_MESSAGE', payload: { ...direct, participants: [ann, bob] } },
    ]
    hears(events[0]!, here, toAnn, toEve)
    hears(events[1]!, there, toAnn, toBob)
    hears(events[0]!, here, toBob)
    expect(broken()).toEqual(['all see the events in one order'])
  })

  test('one cursor, two events', () => {
    const { event, cursor } = says(ann, 'open', 1, [toAnn, toBob])
    hears({ ...event, payload: { ...event.payload, content: '#0 forged' } } as WireEvent, cursor, toEve)
    expect(broken()).toContain('an event is the same for everybody')
  })

  test('an event of what nobody did', () => {
    allHear({ type: 'DELETE_MESSAGE', payload: { id: 'm', channelId: 'open', seq: 1 } }, ...everybody())
    expect(broken()).toContain('nothing comes from nowhere')
  })

  test('a stream that could not resume, one that was refused, one that outlives its session', () => {
    toEve.connections.push({ opened: ++now, after: 'epoch.1', resumed: false, ended: Infinity })
    expect(broken()).toEqual(['a stream resumes'])
    toEve.connections.pop()
    toEve.refusals.push({ status: 503, body: '', at: ++now })
    expect(broken()).toEqual([])
    toEve.refusals.push({ status: 401, body: '', at: ++now })
    expect(broken()).toEqual(['a stream is not refused without a reason'])
    toEve.refusals = []
    does(eve, { kind: 'logout', session: `${eve}'s` })
    expect(broken()).toEqual(['a stream ends with its session'])
    toEve.connections[0]!.ended = ++now
    expect(broken()).toEqual([])
    says(ann, 'open', 1, everybody())
    expect(broken()).toEqual(['nobody hears anything after their session'])
  })

  test('a change without an answer that was told but not stored, or stored but not told', () => {
    const { message } = says(ann, 'open', 1, everybody())
    const edit = begin(ann, (id) => ({ kind: 'edit', place: 'open', message: message.id, content: tagged(id) }))
    const edited = { ...message, content: tagged(edit.id), rev: 2 }
    allHear({ type: 'UPDATE_MESSAGE', payload: edited }, ...everybody())
    expect(broken()).toEqual(['events and listings agree'])
    stored(message.id).content = edited.content
    final.listed.set('open', [edited])
    expect(broken()).toEqual([])
    for (const reading of history.readings) reading.deliveries.pop()
    expect(broken()).toEqual(['events and listings agree'])
  })
})
