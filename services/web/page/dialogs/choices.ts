import type { Workspace } from '../app/workspace.ts'
import type { Choice } from './pick-one.tsx'

const maxFound = 12

const personChoice = ({ id, userName, email }: { id: string; userName: string; email: string }): Choice => ({
  id,
  name: userName,
  hint: email,
  isPerson: true,
})
const channelChoice = ({ id, name, topic }: { id: string; name: string; topic: string | null }): Choice => ({
  id,
  name: `#${name}`,
  hint: topic ?? '',
  isPerson: false,
})

/** The people with whom the person has conversations, the newest conversation first. */
export const knownPeople = (workspace: Workspace): Choice[] =>
  workspace.conversations().map(({ otherUser }) => personChoice({ ...otherUser, email: '' }))

export const knownChannels = (workspace: Workspace): Choice[] => workspace.channels.value.map(channelChoice)

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
