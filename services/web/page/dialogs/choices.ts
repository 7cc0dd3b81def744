import { type HintedPerson, hintOf } from '../app/person-hint.ts'
import type { Workspace } from '../app/workspace.ts'
import type { Choice } from './pick-one.tsx'

const maxFound = 12

const personChoice = (person: HintedPerson & { id: string; userName: string }): Choice => ({
  id: person.id,
  name: person.userName,
  hint: hintOf(person),
  isPerson: true,
})
interface Channel {
  id: string
  name: string
  topic: string | null
  isPrivate: boolean
}

export const channelChoice = ({ id, name, topic, isPrivate }: Channel): Choice => ({
  id,
  name: `#${name}`,
  hint: topic ?? '',
  isPerson: false,
  icon: isPrivate ? 'lock' : 'hash',
})

export const knownChannels = (workspace: Workspace): Choice[] => workspace.channels.value.map(channelChoice)

export const conversationChoice = ({ otherUser }: { otherUser: { id: string; userName: string } }): Choice =>
  personChoice({ ...otherUser, email: '', displayName: null })

/** The people with whom the person has conversations, the newest conversation first. */
export const knownPeople = (workspace: Workspace): Choice[] => workspace.conversations().map(conversationChoice)

/** Finds other people by the beginning of a word of their name or mail address. */
export async function findPeople({ client, myId }: Workspace, text: string, signal: AbortSignal): Promise<Choice[]> {
  const { users } = await client.request('GET /users', { query: { q: text, limit: maxFound }, signal })
  return users.filter(({ id }) => id !== myId).map(personChoice)
}

export async function findChannels({ client }: Workspace, text: string, signal: AbortSignal): Promise<Choice[]> {
  const query = { q: text, members: 'false', limit: maxFound } as const
  const { channels } = await client.request('GET /channels', { query, signal })
  return channels.map(channelChoice)
}
