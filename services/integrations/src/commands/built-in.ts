import { type Channel, firstCharacters, limits, type User } from '@parley/contract'
import type { ChannelRow, Reader } from '@parley/database'
import { channelPath, messagesPath } from '../api-paths.ts'
import type { ServiceRequest, ServiceResponse } from '../call-services.ts'
import { readEmoji } from '../slack-objects/read-emoji.ts'
import { listCommands } from './commands.queries.ts'

/** A command that somebody typed, with the functions that it may call. */
export interface TypedCommand {
  db: Reader
  channel: ChannelRow
  /** The id of the person who typed the command. */
  userId: string
  /** The text after the name of the command, trimmed. */
  text: string
  /** Sends a request of Parley's API with the caller's token. @throws CommandRefused with the error sentence of a refusal. */
  ask(request: Pick<ServiceRequest, 'service' | 'method' | 'path' | 'body'>): Promise<ReturnedBody>
  /** Posts to the channel as the caller. */
  say(content: string): Promise<void>
}

type ReturnedBody = ServiceResponse['body']

/** A command that cannot be carried out. The sentence is for the person who typed it. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
}

export interface BuiltIn {
  name: string
  description: string
  usageHint: string
  /** Returns the text for the caller, if any. Only the caller sees it. */
  run(typed: TypedCommand): Promise<string | undefined>
}

/** The commands that the server runs itself, with the rights of the person who types them. */
export const builtInCommands: readonly BuiltIn[] = [
  {
    name: 'help',
    description: 'List the commands',
    usageHint: '',
    run: ({ db }) => describeCommands(db),
  },
  {
    name: 'me',
    description: 'Say what you are doing',
    usageHint: '<text>',
    async run({ text, say }) {
      await say(`_${requireText(text, '/me <text>')}_`)
      return undefined
    },
  },
  {
    name: 'shrug',
    description: 'Shrug',
    usageHint: '[text]',
    async run({ text, say }) {
      await say(text === '' ? shrug : `${text} ${shrug}`)
      return undefined
    },
  },
  {
    name: 'topic',
    description: 'Set the topic of the channel, or remove it when no text is given',
    usageHint: '[text]',
    async run({ channel, text: topic, ask }) {
      await ask({ service: 'directory', method: 'PUT', path: pathOf(channel), body: { topic } })
      return topic === '' ? 'The channel has no topic now.' : `The topic is “${topic}” now.`
    },
  },
  {
    name: 'invite',
    description: 'Add somebody to the channel',
    usageHint: '@name',
    async run({ channel, text, ask }) {
      const path = pathOf(channel)
      const { person } = await findPerson(ask, text, '/invite @name')
      const listed: { channel: Channel } = await ask({ service: 'directory', method: 'GET', path })
      const { members } = listed.channel
      if (members.includes(person.id)) return `@${person.userName} is in the channel already.`
      const body = { addMembers: [person.id] }
      const changed: { channel: Channel } = await ask({ service: 'directory', method: 'PUT', path, body })
      // During an upgrade, directory may still run the previous version, which ignores `addMembers`.
      if (!changed.channel.members.includes(person.id)) throw new CommandRefused('Please try again in a few minutes')
      return `@${person.userName} is in the channel now.`
    },
  },
  {
    name: 'leave',
    description: 'Leave the channel',
    usageHint: '',
    async run({ channel, ask }) {
      await ask({ service: 'directory', method: 'POST', path: `${pathOf(channel)}/leave` })
      return 'You have left the channel.'
    },
  },
  {
    name: 'status',
    description: 'Show yourself as online or away, with or without a status text',
    usageHint: 'online|away [text] | clear',
    async run({ text, ask }) {
      const [, typed = '', words = ''] = /^(\S*)\s*(.*)$/s.exec(text)!
      const status = typed.toLowerCase()
      const path = '/users/me/status'
      if (status === 'clear') {
        await ask({ service: 'directory', method: 'DELETE', path })
        return 'Your status text is removed.'
      }
      if (status !== 'online' && status !== 'away')
        throw new CommandRefused('Please type /status online, /status away or /status clear')
      // The text is sent first, because it may be refused.
      if (words !== '') await ask({ service: 'directory', method: 'PUT', path, body: statusIn(words) })
      await ask({ service: 'directory', method: 'PUT', path: '/presence/me', body: { status } })
      return words === '' ? `You are shown as ${status}.` : `You are shown as ${status}: ${words}`
    },
  },
  {
    name: 'dm',
    description: 'Send somebody a direct message',
    usageHint: '@name <text>',
    async run({ userId, text, ask }) {
      const { person, rest } = await findPerson(ask, text, '/dm @name <text>')
      if (person.id === userId) throw new CommandRefused('You cannot write to yourself')
      const body = { targetUserId: person.id }
      const { conversation } = await ask({ service: 'messaging', method: 'POST', path: '/conversations', body })
      if (rest === '') return `Your conversation with @${person.userName} is open.`
      const path = messagesPath(conversation.id)
      await ask({ service: 'messaging', method: 'POST', path, body: { content: rest } })
      return undefined
    },
  },
]

/** The custom status that somebody typed. An emoji at the beginning, also as `:name:`, is the emoji of the status. */
function statusIn(words: string) {
  const [first = '', ...others] = words.split(/\s+/)
  const emoji = readEmoji(first)
  return emoji === undefined ? { text: words } : { text: others.join(' '), emoji }
}

const shrug = '¯\\_(ツ)_/¯'

/** Lists all commands, one line each, as far as they fit into one message. */
export async function describeCommands(db: Reader): Promise<string> {
  const all = [...builtInCommands, ...(await listCommands(db))].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const lines = all.map(({ name, usageHint, description }) => {
    const typed = usageHint === '' ? `/${name}` : `/${name} ${usageHint}`
    return `- \`${typed.replaceAll('`', '')}\`${description === '' ? '' : ` ${description}`}`
  })
  let text = 'Available commands:'
  for (const [n, line] of lines.entries()) {
    if (text.length + line.length > longestList) return `${text}\n- … and ${lines.length - n} more`
    text += `\n${line}`
  }
  return text
}

/** Leaves room for a sentence before the list, and for the line that counts the omitted commands. */
const longestList = limits.content - 200

/** @throws CommandRefused with the usage of the command when there is no text. */
function requireText(text: string, usage: string): string {
  if (text === '') throw new CommandRefused(`Please type ${usage}`)
  return text
}

/** The path of the channel in Parley's API. @throws CommandRefused for a conversation, because it has no topic and no members to add. */
function pathOf(channel: ChannelRow): string {
  if (channel.kind === 'direct') throw new CommandRefused('This command is only for channels')
  return channelPath(channel.id)
}

/** The name of a person is searched for in the first words of a text, up to this number. */
const maxWords = 5

/**
 * Finds the person whose name is at the beginning of a text, and the rest of the text. Names may have spaces, so the
 * longest matching name wins.
 * @throws CommandRefused when the text is empty, or does not begin with a name.
 */
async function findPerson(
  ask: TypedCommand['ask'],
  text: string,
  usage: string,
): Promise<{ person: User; rest: string }> {
  const named = requireText(text.toWellFormed().replace(/^@/, '').trim(), usage)
  const words = named.split(/\s+/, maxWords)
  const fits = ({ userName }: User) => {
    const start = named.slice(0, userName.length)
    return start.toLowerCase() === userName.toLowerCase() && /^(\s|$)/.test(named.slice(userName.length))
  }
  const fitting: User[] = []
  for (let count = 1; count <= words.length; count++) {
    const q = firstCharacters(words.slice(0, count).join(' '), limits.userName)
    const path = `/users?limit=${limits.pageSize}&q=${encodeURIComponent(q)}`
    const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path })
    fitting.push(...users.filter(fits))
    // A full page may lack longer names, so the search continues with one more word.
    if (users.length < limits.pageSize) break
  }
  const [person] = fitting.toSorted((one, other) => other.userName.length - one.userName.length)
  if (!person) throw new CommandRefused(`No user has the name @${firstCharacters(words[0]!, limits.userName)}`)
  return { person, rest: named.slice(person.userName.length).trim() }
}
