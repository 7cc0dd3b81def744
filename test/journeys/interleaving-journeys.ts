import type { Message } from '@parley/contract'
import type { HttpResponse, Person } from '@parley/test'
import { expect, test } from 'vitest'
import { type ChannelCopy, copyFromEvents } from '../copies/channel-copy.ts'
import { createChooser } from '../src/chooser.ts'
import type { TestServer } from '../src/test-server.ts'

const steps = 60
const rounds = process.env.TEST_LONG ? [1, 2, 3] : [1]

export function interleavingJourneys(server: TestServer) {
  test.each(rounds)('after concurrent operations, counters, events and listings agree (round %i)', async (round) => {
    const people = await Promise.all(['ann', 'bob', 'cat', 'dan'].map((name) => server.newcomer(name)))
    const [ann, bob] = people as [Person, Person]
    const stream = await bob.opensStream()
    const channel = await ann.creates({ name: server.unique('interleaved') })
    const done = await actAtOnce(people, channel.id, round)

    const last = await ann.says('the end', channel)
    await stream.waitFor('NEW_MESSAGE', { id: last.id }, 30_000)
    const listed = await readChannel(ann, channel.id)
    expect(copyFromEvents(stream.received, channel.id)).toEqual(listed)
    await stream.close()

    const [sent, replies] = [[...done.sent, last], done.replies]
    expect(sent.map(({ seq }) => seq).toSorted(ascending)).toEqual(countTo(sent.length))
    expect(idsOf(listed.messages)).toEqual(idsOf(sent.filter(({ id }) => !done.deleted.has(id))))
    for (const [parentId, ofThread] of Map.groupBy(replies, ({ threadId }) => threadId!)) {
      expect(ofThread.map(({ seq }) => seq).toSorted(ascending)).toEqual(countTo(ofThread.length))
      const left = done.deleted.has(parentId) ? [] : ofThread.filter(({ id }) => !done.deleted.has(id))
      expect(idsOf(listed.threads[parentId] ?? [])).toEqual(idsOf(left))
    }
    for (const message of listed.messages) expect(message.threadMeta).toEqual(metaOf(listed.threads[message.id] ?? []))
    const pins: Message[] = (await ann.get(`/channels/${channel.id}/pins`)).body.messages
    expect(idsOf(pins)).toEqual(idsOf(listed.messages.filter(({ pinnedAt }) => pinnedAt !== null)))

    for (const person of people) {
      const own = sent.filter(({ author }) => author.id === person.id).map(({ seq }) => seq)
      const readSeq = Math.max(0, ...own, done.read.get(person) ?? 0)
      const unread = listed.messages.filter(({ seq }) => seq > readSeq)
      const mentioning = unread.filter(({ mentions }) => mentions.includes('@channel') || mentions.includes(person.id))
      const { channels } = (await person.get('/channels')).body
      expect(channels.find(({ id }: { id: string }) => id === channel.id)).toMatchObject({
        lastSeq: sent.length,
        readSeq,
        unreadCount: unread.length,
        mentionCount: mentioning.length,
      })
    }
  })
}

interface Done {
  sent: Message[]
  replies: Message[]
  deleted: Set<string>
  /** The position up to which a person has marked messages as read. */
  read: Map<Person, number>
}

/** Everybody runs operations one after the other, all people at the same time. Returns the acknowledged operations. */
async function actAtOnce(people: readonly Person[], channelId: string, round: number): Promise<Done> {
  const done: Done = { sent: [], replies: [], deleted: new Set(), read: new Map() }
  const { below: choose, any } = createChooser(round)
  /** Only messages that others have deleted meanwhile may be missing. */
  const ask = async (response: Promise<HttpResponse>): Promise<HttpResponse['body'] | undefined> => {
    const { status, body } = await response
    if (status !== 200 && status !== 404) throw new Error(`${status} ${JSON.stringify(body)}`)
    return status === 200 ? body : undefined
  }
  const content = () => `${any(['hello', '@channel', ...people.map(({ userName }) => `@${userName}`)])} ${choose(1e6)}`
  const ownOf = ({ id }: Person) => any([...done.sent, ...done.replies].filter(({ author }) => author.id === id))

  const acts: Record<string, (person: Person) => Promise<unknown>> = {
    async send(person) {
      done.sent.push((await ask(person.post(`/channels/${channelId}/messages`, { content: content() })))!.message)
    },
    async reply(person) {
      const body = await ask(person.post(`/messages/${any(done.sent).id}/thread`, { content: content() }))
      if (body) done.replies.push(body.reply)
    },
    edit: (person) => ask(person.put(`/messages/${ownOf(person).id}`, { content: content() })),
    async delete(person) {
      const { id } = ownOf(person)
      if (await ask(person.delete(`/messages/${id}`))) done.deleted.add(id)
    },
    react: (person) => ask(person.post(`/messages/${any(all()).id}/reactions`, { reaction: any(['+1', '🎉']) })),
    unreact: (person) => ask(person.delete(`/messages/${any(all()).id}/reactions`, { reaction: any(['+1', '🎉']) })),
    pin: (person) => ask(person.post(`/messages/${any(done.sent).id}/pin`)),
    unpin: (person) => ask(person.delete(`/messages/${any(done.sent).id}/pin`)),
    async read(person) {
      const body = (await ask(person.put(`/channels/${channelId}/read`, { seq: any(done.sent).seq })))!
      done.read.set(person, Math.max(body.readSeq, done.read.get(person) ?? 0))
    },
  }
  const all = () => [...done.sent, ...done.replies]
  const usual = ['send', 'send', 'send', 'reply', 'reply', 'reply', ...Object.keys(acts)]

  await Promise.all(
    people.map(async (person) => {
      await acts.send!(person)
      for (let step = 0; step < steps; step++) await acts[any(usual)]!(person)
    }),
  )
  return done
}

async function readChannel(person: Person, channelId: string): Promise<ChannelCopy> {
  const messages: Message[] = (await person.get(`/channels/${channelId}/messages?limit=200`)).body.messages
  const threads: Record<string, Message[]> = {}
  for (const { id } of messages) {
    const { replies } = (await person.get(`/messages/${id}/thread?limit=200`)).body
    if (replies.length > 0) threads[id] = replies
  }
  return { messages, threads }
}

function metaOf(replies: readonly Message[]): Message['threadMeta'] {
  const newest = replies.at(-1)
  if (!newest) return null
  return {
    replyCount: replies.length,
    lastReplyAt: newest.createdAt,
    lastReplyBy: newest.author,
    participants: [...new Set(replies.map(({ author }) => author.id))],
  }
}

const ascending = (one: number, other: number) => one - other
const countTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id).toSorted()
