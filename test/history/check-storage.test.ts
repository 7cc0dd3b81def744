import { beforeEach, describe, expect, test } from 'vitest'
import { type Act, type Operation, tagged } from './history.ts'
import { ann, bob, eve, historyByHand, root } from './history-by-hand.ts'

const {
  history,
  final,
  broken,
  begin,
  end,
  does,
  isRefused,
  makes,
  messageOf,
  store,
  says,
  stored,
  listedMessage,
  send,
} = historyByHand()

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

  test('a message without a reply is stored once, or not at all, but not twice', () => {
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

  test('a listing that differs from the stored messages', () => {
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

  test('a change of a channel that was lost; either of two concurrent changes may win', () => {
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

  test('a wrong member, a former admin with the role, a removed person who still exists', () => {
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
  test('a person without access is accepted', () => {
    makes('secret', { isPrivate: true, members: [bob] })
    does(eve, { kind: 'list', place: 'secret' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts where they have no access'])
  })

  test('a removed member is accepted after the removal was acknowledged, not during the removal', () => {
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

  test('a request after logging out is accepted', () => {
    makes('open')
    does(ann, { kind: 'logout', session: `${ann}'s` })
    does(ann, { kind: 'list', place: 'open' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts with a session that is over'])
  })

  test('a person acts in a channel that was deleted', () => {
    makes('open')
    does(ann, { kind: 'drop', place: 'open' })
    final.channels = []
    final.listed.clear()
    final.lastSeq.clear()
    does(bob, { kind: 'list', place: 'open' }, { listed: [] })
    expect(broken()).toEqual(['nobody acts in a deleted channel'])
  })

  test('a request for admins by a person who is not an admin is accepted', () => {
    does(bob, { kind: 'role', user: eve, isAdmin: false })
    expect(broken()).toEqual(['only admins do what is for admins'])
  })

  test('a listing without an acknowledged message, with a deleted one, out of order', () => {
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
