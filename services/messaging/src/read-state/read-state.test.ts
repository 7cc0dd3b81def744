import type { Channel, Message, ReadState } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { foldEvery, foldReads } from '@parley/read-states'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test, vi } from 'vitest'

const environment = testEnvironment()
let rounds = 0
const channelOf = (person: Person, more: object = {}) => person.creates({ name: `reading ${++rounds}`, ...more })
const newcomer = () => Person.signIn(environment.baseUrl, `newcomer-${uuidv7()}@example.com`)
const says = async (person: Person, channel: Channel, ...contents: string[]): Promise<Message[]> => {
  const messages: Message[] = []
  for (const content of contents) messages.push(await person.says(content, channel))
  return messages
}
/** The read state of a person, from their listing of channels. */
const stateOf = async (person: Person, { id }: { id: string }): Promise<ReadState> => {
  const { body } = await person.get('/channels')
  const { lastSeq, readSeq, unreadCount, mentionCount } = body.channels.find((each: Channel) => each.id === id)
  return { lastSeq, readSeq, unreadCount, mentionCount }
}
const state = (lastSeq: number, readSeq: number, unreadCount: number, mentionCount = 0): ReadState => ({
  lastSeq,
  readSeq,
  unreadCount,
  mentionCount,
})

describe('unread messages', () => {
  test('are the messages of others, also in public channels that the person never joined', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await channelOf(ann)
    expect(await stateOf(bob, channel)).toEqual(state(0, 0, 0))
    await says(ann, channel, '1', '2', '3')
    expect(await stateOf(ann, channel)).toEqual(state(3, 3, 0))
    for (const person of [bob, cat]) expect(await stateOf(person, channel)).toEqual(state(3, 0, 3))
  })

  test('begins after the person’s own last message', async () => {
    const { ann, bob } = environment.people
    const channel = await channelOf(ann)
    await says(ann, channel, '1', `2 @${bob.userName}`)
    await says(bob, channel, '3')
    await says(ann, channel, '4')
    expect(await stateOf(bob, channel)).toEqual(state(4, 3, 1))
    expect(await stateOf(ann, channel)).toEqual(state(4, 4, 0))
  })

  test('are no deleted messages and no replies', async () => {
    const { ann, bob } = environment.people
    const channel = await channelOf(ann)
    const [one, two] = await says(ann, channel, '1', `2 @${bob.userName}`, '3')
    await ann.post(`/messages/${one!.id}/thread`, { content: `reply @${bob.userName}` })
    expect(await stateOf(bob, channel)).toEqual(state(3, 0, 3, 1))
    await ann.delete(`/messages/${two!.id}`)
    expect(await stateOf(bob, channel)).toEqual(state(3, 0, 2, 0))
  })

  test('has mentions of oneself, of @channel and of @here counted apart', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await channelOf(ann)
    const texts = [`@${bob.userName} and @${bob.userName}`, '@channel', '@here', 'nobody', `@${cat.userName}`]
    const [first] = await says(ann, channel, ...texts)
    expect(await stateOf(bob, channel)).toEqual(state(5, 0, 5, 3))
    expect(await stateOf(ann, channel)).toEqual(state(5, 5, 0, 0))
    await ann.put(`/messages/${first!.id}`, { content: 'nobody after all' })
    expect(await stateOf(bob, channel)).toEqual(state(5, 0, 5, 2))
  })

  test('stays the same when the authors of many messages are entered as readers', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await channelOf(ann)
    await says(bob, channel, '1')
    await says(cat, channel, '2')
    await Promise.all(Array.from({ length: 2 * foldEvery }, () => ann.says('more', channel)))
    const lastSeq = 2 * foldEvery + 2
    const { db, pool } = environment.deps
    const isFolded = async () => {
      const folds = db.selectFrom('readFolds').select('foldedSeq').where('channelId', '=', channel.id)
      expect(await folds.execute()).toEqual([{ foldedSeq: 2 * foldEvery }])
    }
    const isSame = async () => {
      expect(await stateOf(bob, channel)).toEqual(state(lastSeq, 1, lastSeq - 1))
      expect(await stateOf(cat, channel)).toEqual(state(lastSeq, 2, lastSeq - 2))
      expect(await stateOf(ann, channel)).toEqual(state(lastSeq, lastSeq, 0))
    }
    await isSame()
    await vi.waitFor(isFolded, { timeout: 20_000, interval: 20 })
    await isSame()
    await foldReads(pool, channel.id, foldEvery)
    await isFolded()
    await isSame()
  })

  test('is exact when many send, delete and mark at once', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await channelOf(ann)
    const sent = await Promise.all(Array.from({ length: 30 }, () => ann.says('@channel', channel)))
    const inOrder = sent.toSorted((one, other) => one.seq - other.seq)
    await Promise.all([
      ...inOrder.slice(0, 10).map(({ id }) => ann.delete(`/messages/${id}`)),
      ...[3, 15, 7, 11].map((seq) => bob.put(`/channels/${channel.id}/read`, { seq })),
      ...Array.from({ length: 10 }, () => ann.says('more', channel)),
    ])
    expect(await stateOf(bob, channel)).toEqual(state(40, 15, 25, 15))
    expect(await stateOf(cat, channel)).toEqual(state(40, 0, 30, 20))
  })
})

describe('a person who gets access later has read the earlier messages:', () => {
  test('a new person, in public channels', async () => {
    const { ann } = environment.people
    const channel = await channelOf(ann)
    await says(ann, channel, '1', '2')
    const late = await newcomer()
    await says(ann, channel, '3')
    expect(await stateOf(late, channel)).toEqual(state(3, 2, 1))
  })

  test('a new member of a private channel, even one who was a member before', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await channelOf(ann, { isPrivate: true, members: [bob.id] })
    const join = async (...members: string[]) => {
      expect(await ann.put(`/channels/${channel.id}`, { members })).toMatchObject({ status: 200 })
    }
    await says(ann, channel, '1', '2 @channel')
    await join(bob.id, cat.id)
    await says(ann, channel, '3')
    expect(await stateOf(cat, channel)).toEqual(state(3, 2, 1))
    expect(await stateOf(bob, channel)).toEqual(state(3, 0, 3, 1))
    await join(cat.id)
    await says(ann, channel, '4')
    await join(bob.id, cat.id)
    expect(await stateOf(bob, channel)).toEqual(state(4, 4, 0))
    expect(await stateOf(cat, channel)).toEqual(state(4, 2, 2))
  })

  test('everybody, when a private channel becomes public; its members keep their positions', async () => {
    const { ada, ann, bob, cat } = environment.people
    const channel = await channelOf(ann, { isPrivate: true, members: [bob.id] })
    await says(ann, channel, '1', '2')
    await ann.put(`/channels/${channel.id}`, { isPrivate: false })
    await says(ann, channel, '3')
    expect(await stateOf(cat, channel)).toEqual(state(3, 2, 1))
    expect(await stateOf(bob, channel)).toEqual(state(3, 0, 3))
    expect(await stateOf(ada, channel)).toEqual(state(3, 0, 3))
  })

  test('a new admin, in private channels; in public ones they keep their positions', async () => {
    const { ada, ann } = environment.people
    const [open, closed] = [await channelOf(ann), await channelOf(ann, { isPrivate: true })]
    const promoted = await newcomer()
    for (const channel of [open, closed]) await says(ann, channel, '1', '2')
    await ada.put(`/users/${promoted.id}/role`, { role: 'admin' })
    for (const channel of [open, closed]) await says(ann, channel, '3')
    expect(await stateOf(promoted, open)).toEqual(state(3, 0, 3))
    expect(await stateOf(promoted, closed)).toEqual(state(3, 2, 1))
  })
})

describe('PUT /channels/:channelId/read', () => {
  test('returns the position, and sends it only to the person’s own streams', async () => {
    const { ann, bob } = environment.people
    const channel = await channelOf(ann)
    await says(ann, channel, '1', '2', '3 @here')
    const response = await bob.put(`/channels/${channel.id}/read`, { seq: 2 })
    const answer = { channelId: channel.id, ...state(3, 2, 1, 1) }
    expect({ status: response.status, body: response.body }).toEqual({ status: 200, body: answer })
    expect(await stateOf(bob, channel)).toEqual(state(3, 2, 1, 1))
    await environment.events.to(bob).toHave('READ_UPDATE', answer)
    await environment.events.to(ann).neverHave('READ_UPDATE', { channelId: channel.id })
  })

  test('never moves back, nor beyond the newest message, and sends no event when nothing changes', async () => {
    const { ann, bob } = environment.people
    const channel = await channelOf(ann)
    await says(ann, channel, '1', '2', '3')
    const mark = async (seq: number) => (await bob.put(`/channels/${channel.id}/read`, { seq })).body
    expect(await mark(2)).toMatchObject({ readSeq: 2 })
    for (const seq of [0, 1, 2]) expect(await mark(seq)).toMatchObject({ readSeq: 2 })
    for (const seq of [1_000_000, 3, 0]) expect(await mark(seq)).toMatchObject({ readSeq: 3, unreadCount: 0 })
    await says(bob, channel, '4')
    expect(await mark(4)).toMatchObject({ readSeq: 4 })
    const told = environment.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%READ_UPDATE%${channel.id}%`)
      .orderBy('id')
    expect((await told.execute()).map(({ event }) => JSON.parse(event!).payload.readSeq)).toEqual([2, 3])
  })

  test.each([{}, { seq: -1 }, { seq: 1.5 }, { seq: '1' }, { seq: null }, { seq: 1e300 }])(
    '%j is refused',
    async (body) => {
      const { ann } = environment.people
      expect(await ann.put(`/channels/${environment.channel.open.id}/read`, body)).toMatchObject({ status: 400 })
    },
  )

  test('is for those who may read the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const path = `/channels/${environment.channel.secret.id}/read`
    const statuses = [ada, bob, cat, nobody].map(async (person) => (await person.put(path, { seq: 0 })).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense']) {
      expect(await ann.put(`/channels/${id}/read`, { seq: 0 })).toMatchObject({ status: 404 })
    }
  })
})

describe('PUT /conversations/:conversationId/read', () => {
  test('counts in the listing of conversations, and is for participants alone', async () => {
    const { ada, ann, bob, nobody } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const path = `/conversations/${conversation.id}`
    for (const content of ['1', `2 @${bob.userName}`, '3']) await ann.post(`${path}/messages`, { content })
    const listed = async (person: Person) => {
      const { body } = await person.get('/conversations')
      return body.conversations.find(({ id }: { id: string }) => id === conversation.id)
    }
    expect(await listed(bob)).toMatchObject(state(3, 0, 3, 1))
    expect(await listed(ann)).toMatchObject(state(3, 3, 0))

    const answer = { channelId: conversation.id, ...state(3, 2, 1) }
    expect((await bob.put(`${path}/read`, { seq: 2 })).body).toEqual(answer)
    expect(await listed(bob)).toMatchObject(state(3, 2, 1))
    await environment.events.to(bob).toHave('READ_UPDATE', answer)
    await environment.events.to(ann).neverHave('READ_UPDATE', { channelId: conversation.id })

    expect(await ada.put(`${path}/read`, { seq: 1 })).toMatchObject({ status: 403 })
    expect(await nobody.put(`${path}/read`, { seq: 1 })).toMatchObject({ status: 401 })
    for (const wrong of [`/channels/${conversation.id}`, `/conversations/${environment.channel.open.id}`]) {
      expect(await bob.put(`${wrong}/read`, { seq: 1 })).toMatchObject({ status: 404 })
    }
  })
})
