import type { WireEvent } from '@parley/contract'
import { beforeEach, describe, expect, test } from 'vitest'
import { check } from './check.ts'
import { type Operation, type Reading, tagged } from './history.ts'
import { ann, bob, eve, historyByHand, root } from './history-by-hand.ts'

const {
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
  send,
} = historyByHand()

test('a correct history has no complaints', () => {
  const [toAnn, toBob, toEve] = [reads(ann), reads(bob), reads(eve)]
  makes('open', { told: [toAnn, toBob, toEve] })
  makes('secret', { isPrivate: true, members: [bob], told: [toAnn, toBob] })
  says(ann, 'open', 1, [toAnn, toBob, toEve])
  says(bob, 'secret', 1, [toAnn, toBob])
  isRefused(eve, { kind: 'list', place: 'secret' }, 403)
  says(ann, 'open', 2, [toAnn, toBob, toEve])
  expect(check(history, final)).toEqual([])
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

  test('a message that one reader missed, although they got a later one', () => {
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
    operation.invoked = tick()
    allHear({ type: 'NEW_DM_MESSAGE', payload: { ...message, participants: [ann, bob] } }, toRoot)
    expect(broken()).toContain('nobody hears what is not for them')
  })

  const removesBob = () => begin(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), members: [] }))
  const bobIsGone = (removal: Operation, told: Reading[]) => {
    final.channels[1] = channelOf('secret', removal, true, [ann])
    allHear({ type: 'DELETE_CHANNEL', payload: { id: 'secret', name: 'secret' } }, ...told)
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[1] }, toAnn)
  }

  test('a message during the removal of a member may or may not reach them, a later one must not', () => {
    const removal = removesBob()
    says(ann, 'secret', 1, [toAnn, toBob])
    says(ann, 'secret', 2, [toAnn])
    end(removal)
    bobIsGone(removal, [toBob])
    expect(broken()).toEqual([])
    says(ann, 'secret', 3, [toAnn, toBob])
    expect(broken()).toEqual(['nobody hears what is not for them'])
  })

  test('a removed person and an added person without an event', () => {
    bobIsGone(end(removesBob()), [])
    expect(broken()).toEqual(['who loses a channel is told so'])
    history.readings.splice(1, 1)
    expect(broken()).toEqual([])
    const addition = does(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), members: [eve] }))
    final.channels[1] = channelOf('secret', addition, true, [ann, eve])
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[1] }, toAnn, toEve)
    expect(broken()).toEqual(['who gains a channel is told so'])
  })

  test('a new admin, before the event of a channel that became public', () => {
    const opening = does(ann, (id) => ({ kind: 'change', place: 'secret', topic: tagged(id), isPrivate: false }))
    final.channels[1] = channelOf('secret', opening, false, [ann, bob])
    const promotion = does(root, { kind: 'role', user: eve, isAdmin: true })
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[1] }, ...everybody())
    says(ann, 'open', 1, everybody())
    does(root, { kind: 'role', user: eve, isAdmin: false })
    expect(broken()).toEqual([])
    promotion.act = { kind: 'list', place: 'open' }
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
    toEve.connections.push({ opened: tick(), after: 'epoch.1', resumed: true, ended: Infinity })
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

  test('two readers with two events in opposite orders', () => {
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

  test('an event without a cause', () => {
    allHear({ type: 'DELETE_MESSAGE', payload: { id: 'm', channelId: 'open', seq: 1 } }, ...everybody())
    expect(broken()).toContain('nothing comes from nowhere')
  })

  test('a stream that could not resume, one that was refused, one that outlives its session', () => {
    toEve.connections.push({ opened: tick(), after: 'epoch.1', resumed: false, ended: Infinity })
    expect(broken()).toEqual(['a stream resumes'])
    toEve.connections.pop()
    toEve.refusals.push({ status: 503, body: '', at: tick() })
    expect(broken()).toEqual([])
    toEve.refusals.push({ status: 401, body: '', at: tick() })
    expect(broken()).toEqual(['a stream is not refused without a reason'])
    toEve.refusals = []
    does(eve, { kind: 'logout', session: `${eve}'s` })
    expect(broken()).toEqual(['a stream ends with its session'])
    toEve.connections[0]!.ended = tick()
    expect(broken()).toEqual([])
    says(ann, 'open', 1, everybody())
    expect(broken()).toEqual(['nobody hears anything after their session'])
  })

  test('nothing is missed after a log-out without a reply, which may have ended the session', () => {
    says(ann, 'open', 1, everybody())
    const logout = begin(eve, { kind: 'logout', session: `${eve}'s` })
    toEve.connections[0]!.ended = tick()
    says(ann, 'open', 2, [toAnn, toBob])
    expect(broken()).toEqual([])
    logout.act = { kind: 'list', place: 'open' }
    expect(broken()).toEqual(['everybody hears what is for them', 'events and listings agree'])
  })

  test('a change without a reply that has an event but is not stored, or is stored without an event', () => {
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

describe('deliveries to a reader who follows only joined channels', () => {
  let toAnn: Reading
  let toBob: Reading

  beforeEach(() => {
    toAnn = reads(ann)
    toBob = reads(bob, 'bob', ['watched'])
    makes('open', { told: [toAnn] })
    makes('watched', { told: [toAnn, toBob] })
  })

  const toldAnew = (type: 'NEW_CHANNEL' | 'UPDATE_CHANNEL', place: string, ...readers: Reading[]) => {
    const channel = final.channels.find(({ id }) => id === place)!
    const payload = { ...channel, lastSeq: 0 }
    allHear({ type, payload }, ...readers)
  }
  const joins = () => {
    const operation = does(bob, { kind: 'join', place: 'open' })
    final.channels.find(({ id }) => id === 'open')!.members.push(bob)
    return operation
  }

  test('they need not receive events of channels that they have not joined', () => {
    says(ann, 'open', 1, [toAnn])
    says(ann, 'watched', 1, [toAnn, toBob])
    expect(broken()).toEqual([])
  })

  test('a message of a channel that they have not joined', () => {
    says(ann, 'open', 1, [toAnn, toBob])
    expect(broken()).toEqual(['nobody hears what is not for them'])
  })

  test('a message of a channel that they watch, missed', () => {
    says(ann, 'watched', 1, [toAnn])
    says(ann, 'watched', 2, [toAnn, toBob])
    expect(broken()).toEqual(['everybody hears what is for them', 'events and listings agree'])
  })

  test('joining, with the topic in a further event long after it was set', () => {
    says(ann, 'open', 1, [toAnn])
    joins()
    toldAnew('NEW_CHANNEL', 'open', toBob)
    toldAnew('UPDATE_CHANNEL', 'open', toAnn, toBob)
    says(ann, 'open', 2, [toAnn, toBob])
    expect(broken()).toEqual([])
  })

  test('a message missed after joining, and the channel with it', () => {
    joins()
    says(ann, 'open', 1, [toAnn])
    says(ann, 'watched', 1, [toAnn, toBob])
    expect(broken()).toEqual(['who gains a channel is told so', 'everybody hears what is for them'])
  })

  test('joining by a message that was refused, because the channel became private just then', () => {
    const refused = begin(bob, (n) => ({ kind: 'send', place: 'open', parent: null, content: tagged(n) }))
    toldAnew('NEW_CHANNEL', 'open', toBob)
    toldAnew('UPDATE_CHANNEL', 'open', toAnn, toBob)
    const closing = does(ann, (id) => ({
      kind: 'change',
      place: 'open',
      topic: tagged(id),
      isPrivate: true,
      members: [],
    }))
    end(refused, {}, 403)
    final.channels[0] = channelOf('open', closing, true, [ann])
    allHear({ type: 'DELETE_CHANNEL', payload: { id: 'open', name: 'open' } }, toBob)
    allHear({ type: 'UPDATE_CHANNEL', payload: final.channels[0] }, toAnn)
    expect(broken()).toEqual([])
  })

  test('no joining by a message to a channel that was private all the time', () => {
    makes('closed', { isPrivate: true, told: [toAnn] })
    isRefused(bob, { kind: 'send', place: 'closed', parent: null, content: 'x' }, 403)
    says(ann, 'closed', 1, [toAnn, toBob])
    expect(broken()).toEqual(['nobody hears what is not for them'])
  })

  test('a message received after leaving, without an event about leaving', () => {
    joins()
    toldAnew('NEW_CHANNEL', 'open', toBob)
    does(bob, { kind: 'leave', place: 'open' })
    final.channels.find(({ id }) => id === 'open')!.members.pop()
    says(ann, 'open', 1, [toAnn, toBob])
    expect(broken()).toEqual(['nobody hears what is not for them', 'who loses a channel is told so'])
  })
})
