import type { Channel, FollowedThread, Message, ThreadReadState } from '@parley/contract'
import { Person } from '@parley/test'
import type { TestEnvironment } from '@parley/test/test-environment'
import { expect } from 'vitest'

let made = 0

/** A part of a name that no other name of this process has. */
export const unique = () => `${++made}`

export const channelOf = (person: Person, body: object = {}): Promise<Channel> =>
  person.creates({ name: `threads ${unique()}`, ...body })

export const newReader = ({ baseUrl }: TestEnvironment) => Person.signIn(baseUrl, `reader${unique()}@example.com`)

export async function replies(person: Person, to: Message, content = 'reply'): Promise<Message> {
  const { status, body } = await person.post(`/messages/${to.id}/thread`, { content })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.reply
}

export interface Listed {
  threads: FollowedThread[]
  hasMore: boolean
  unreadThreads: number
}

export async function listed(person: Person, query = 'limit=200'): Promise<Listed> {
  const { status, body } = await person.get(`/threads?${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

export const threadOf = async (person: Person, parent: Message) =>
  (await listed(person)).threads.find(({ message }) => message.id === parent.id)

export const follows = async (person: Person, parent: Message) => (await threadOf(person, parent)) !== undefined

export const state = (parent: Message, lastSeq: number, readSeq: number, unreadCount: number): ThreadReadState => ({
  messageId: parent.id,
  channelId: parent.channelId,
  lastSeq,
  readSeq,
  unreadCount,
  isFollowing: true,
})

/** The states of the thread in the events that one person alone got. */
export async function statesFor(
  person: Person,
  parent: Message,
  { deps: { db } }: TestEnvironment,
): Promise<ThreadReadState[]> {
  const rows = await db
    .selectFrom('outbox')
    .select(['event', 'routing'])
    .where('event', 'like', `%THREAD_READ_UPDATE%${parent.id}%`)
    .orderBy('id')
    .execute()
  return rows
    .filter(({ routing }) => JSON.parse(routing).users.includes(person.id))
    .map(({ event }) => JSON.parse(event!).payload)
}
