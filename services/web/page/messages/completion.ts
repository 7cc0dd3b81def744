import { isConversationId } from '@parley/client'
import type { Group, User } from '@parley/contract'
import { foldName } from '../app/names.ts'
import { type HintedPerson, hintOf } from '../app/person-hint.ts'
import type { Workspace } from '../app/workspace.ts'
import { findEmoji, loadEmoji } from '../emoji/emoji.ts'
import { serverText, t } from '../texts/texts.ts'
import type { TypedWord } from './typed-word.ts'

export interface Option {
  key: string
  /** The text in the list. */
  label: string
  hint: string
  /** The text that replaces the typed word. */
  text: string
  /** The person whose avatar is shown. */
  person?: { id: string; userName: string }
  /** Whether the person is a member of the channel, as far as it is known. */
  isMember?: boolean
}

const maxOptions = 8
/** The number of people and channels to fetch. Those whose name begins with the text may not be the first ones. */
const maxFound = 4 * maxOptions

/** Where a person types. `threadId` is set in a thread. */
export interface TypingPlace {
  channelId: string
  threadId: string | undefined
}

/** The options that are known without a request. */
export function knownOptions(
  { sign, typed }: Pick<TypedWord, 'sign' | 'typed'>,
  workspace: Workspace,
  place: TypingPlace,
): Option[] {
  if (sign === ':') return emojiOptions(typed)
  if (sign === '/') return commandOptions(typed, workspace)
  if (sign === '#') return firstMatches(workspace.channels.value.map(channelOption), typed)
  void workspace.groups.load()
  const groups = workspace.groups.all().map(groupOption)
  const people = lastWritersFirst(workspace, place).map(personOption)
  return firstMatches([...people, ...groups, ...everybody(workspace)], typed)
}

/** The known people. First those who have written last in the thread, then those in the channel. The person who types comes last. */
function lastWritersFirst(workspace: Workspace, { channelId, threadId }: TypingPlace): User[] {
  const replies = threadId === undefined ? [] : workspace.timeline(channelId, { parentId: threadId }).messages
  const messages = [...(workspace.timeline(channelId).messages ?? []), ...(replies ?? [])]
  // The last message of each author counts. Replies come after all messages of the channel.
  const lastIndexes = new Map(messages.map(({ author }, index) => [author.id, index]))
  const rankOf = ({ id }: User) => (id === workspace.myId ? -2 : (lastIndexes.get(id) ?? -1))
  return workspace.users.value.toSorted((one, other) => rankOf(other) - rankOf(one))
}

/** The options from the server. */
export async function findOptions(
  { sign, typed }: TypedWord,
  workspace: Workspace,
  place: TypingPlace,
  signal: AbortSignal,
): Promise<Option[]> {
  const { client } = workspace
  const { channelId } = place
  if (sign === ':') {
    await loadEmoji()
    return emojiOptions(typed)
  }
  if (sign === '/') {
    await workspace.commands.load()
    return commandOptions(typed, workspace)
  }
  if (typed === '') {
    // Immediately after the start no people are loaded yet.
    if (sign === '@') await workspace.loadMe()
    return knownOptions({ sign, typed }, workspace, place)
  }
  if (sign === '#') {
    const query = { q: typed, members: 'false', limit: maxFound } as const
    const { channels } = await client.request('GET /channels', { query, signal })
    return firstMatches(channels.map(channelOption), typed)
  }
  const within = isConversationId(channelId) ? {} : { channelId }
  const [{ users }, memberIds] = await Promise.all([
    client.request('GET /users', { query: { q: typed, limit: maxFound, ...within }, signal }),
    findMemberIds(typed, workspace, channelId, signal),
    workspace.groups.load(),
  ])
  const people = users.map((user) => ({ ...personOption(user), isMember: memberIds.includes(user.id) }))
  return [...firstMatches(workspace.groups.all().map(groupOption), typed), ...people]
}

/** All members of a small channel, as the server has said last. */
interface FetchedMembers {
  channelId: string
  memberCount: number
  ids: readonly string[]
  fetchedAt: number
}

/** The members of the channel in which the person has typed a name last. They are removed together with the workspace. */
const fetchedMembers = new WeakMap<Workspace, FetchedMembers>()
/** The members of a channel with no more than these are fetched once. The server sends as many at a time. */
const maxFetched = 200
/** A change of the members is known by their number, but not that one has come and another one has left. */
const refetchAfterMs = 60_000

/** The members of the channel or conversation, or of a large channel the first ones whose name or address the text begins. */
async function findMemberIds(typed: string, workspace: Workspace, channelId: string, signal: AbortSignal) {
  const place = workspace.place(channelId)
  if (place?.kind === 'direct') return [place.conversation.otherUser.id, workspace.myId]
  const memberCount = place?.channel.memberCount ?? Infinity
  const known = fetchedMembers.get(workspace)
  if (known?.channelId === channelId && known.memberCount === memberCount) {
    if (Date.now() - known.fetchedAt < refetchAfterMs) return known.ids
  }
  const query = memberCount <= maxFetched ? { limit: maxFetched } : { q: typed, limit: maxOptions }
  const input = { params: { channelId }, query, signal }
  const { members } = await workspace.client.request('GET /channels/:channelId/members', input)
  const ids = members.map(({ id }) => id)
  if (memberCount <= maxFetched) fetchedMembers.set(workspace, { channelId, memberCount, ids, fetchedAt: Date.now() })
  return ids
}

/**
 * Joins both lists without duplicates. The known options come first, but of people first the members of the channel, and then those whose
 * name begins with the text.
 */
export function joinOptions({ sign, typed }: TypedWord, known: readonly Option[], found: readonly Option[]): Option[] {
  const byKey = new Map([...known, ...found].map((option) => [option.key, option]))
  const all = [...byKey.values()]
  return (sign === '@' ? inOrder(all, typed) : all).slice(0, maxOptions)
}

function inOrder(options: readonly Option[], typed: string): Option[] {
  const wanted = foldName(typed)
  const rankOf = ({ label, person, isMember }: Option) => {
    const name = foldName(label.slice(1))
    const match = name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2
    // A name that is typed out may be that of a group, or `channel` or `here`.
    return isMember || (!person && match === 0) ? match : 3 + match
  }
  return options.toSorted((one, other) => rankOf(one) - rankOf(other))
}

const emojiOptions = (typed: string): Option[] =>
  findEmoji(typed, maxOptions).map(({ emoji, shortNames }) => ({
    key: emoji,
    label: emoji,
    hint: `:${shortNames[0]}:`,
    text: `${emoji} `,
  }))

/** The commands of bots come before the built-in ones. */
const commandOptions = (typed: string, { commands }: Workspace): Option[] =>
  commands
    .all()
    .filter(({ name }) => name.startsWith(typed))
    .sort((one, other) => Number(one.id === null) - Number(other.id === null))
    .slice(0, maxOptions)
    .map(({ id, name, usageHint, description }) => ({
      key: name,
      label: `/${name}`,
      // What a bot says about its command is shown as it is.
      hint: [usageHint, id === null ? serverText(description) : description].filter(Boolean).join(' – '),
      text: `/${name} `,
    }))

const channelOption = ({ id, name, topic }: { id: string; name: string; topic: string | null }): Option => ({
  key: id,
  label: `#${name}`,
  hint: topic ?? '',
  text: `#${name} `,
})

const personOption = ({ id, userName, ...person }: HintedPerson & { id: string; userName: string }): Option => ({
  key: id,
  label: `@${userName}`,
  hint: hintOf(person),
  text: `@${userName} `,
  person: { id, userName },
})

const groupOption = ({ id, handle, name, memberCount }: Group): Option => ({
  key: id,
  label: `@${handle}`,
  hint: `${name} · ${t('{count, plural, one {# member} other {# members}}', { count: memberCount })}`,
  text: `@${handle} `,
})

/** Guests cannot mention everybody. Before `isReady` it is not known whether the person is a guest. */
const everybody = ({ me, isReady }: Workspace): Option[] =>
  me.value.role === 'guest' || !isReady.value
    ? []
    : [
        { key: 'channel', label: '@channel', hint: t('Everybody in this channel'), text: '@channel ' },
        { key: 'here', label: '@here', hint: t('Everybody in this channel who is online'), text: '@here ' },
      ]

/** The options whose name begins with the text, and then those in which a later word begins with it. */
function firstMatches(all: readonly Option[], typed: string): Option[] {
  const begins: Option[] = []
  const later: Option[] = []
  const wanted = foldName(typed)
  for (const option of all) {
    const name = foldName(option.label.slice(1))
    if (name.startsWith(wanted)) begins.push(option)
    else if (name.split(/[\s._-]+/).some((word) => word.startsWith(wanted))) later.push(option)
  }
  return [...begins, ...later].slice(0, maxOptions)
}
