import type { Channel, Conversation, Message, User } from '@parley/contract'
import { toMrkdwn } from '@parley/slack'
import { imagePath } from '../api-paths.ts'
import { slackReactionName } from './emoji-names.ts'
import { findReferences, type SlackReferences, type SlackSource } from './slack-references.queries.ts'

/** These functions translate Parley's resources into those of Slack. */

export const asSlackMessage = (message: Message, references: SlackReferences) => {
  const { author, content, threadMeta, reactions, blocks, attachments, images } = message
  const files = [
    ...attachments.map(({ filename, originalName, contentType, size }) => ({
      ...asFile({ filename, name: originalName, path: `/files/${filename}` }, references),
      mimetype: contentType,
      size,
    })),
    ...images.map((filename) => ({
      ...asFile({ filename, name: filename, path: imagePath(message.channelId, filename) }, references),
      mimetype: imageTypes[typeOfFile(filename)],
    })),
  ]
  const ts = references.of(message)
  const thread = references.ofParent(message) ?? (threadMeta ? ts : undefined)
  return {
    type: 'message',
    ...(author.id.startsWith('webhook:') ? { subtype: 'bot_message' } : { user: author.id }),
    ...(author.isBot && { bot_id: author.id }),
    username: author.userName,
    text: toMrkdwn(content, references.mentionsIn(message)),
    ts,
    ...(thread !== undefined && { thread_ts: thread }),
    ...(threadMeta && {
      reply_count: threadMeta.replyCount,
      reply_users: threadMeta.participants,
      reply_users_count: threadMeta.participants.length,
      latest_reply: references.ofLatestReply(message),
    }),
    ...(message.updatedAt !== null && { edited: { user: author.id, ts: secondsOf(message.updatedAt) } }),
    ...(blocks.length > 0 && { blocks }),
    ...(files.length > 0 && { files }),
    reactions: asSlackReactions(reactions),
  }
}

/** A file of a message. Programs download it from `url_private_download` with their token. */
function asFile(
  { filename, name, path }: { filename: string; name: string; path: string },
  { appUrl }: SlackReferences,
) {
  const url = `${appUrl}${path}`
  const kind = { filetype: typeOfFile(filename), mode: 'hosted' }
  return { id: filename, name, title: name, ...kind, url_private: url, url_private_download: url }
}

const typeOfFile = (filename: string) => filename.split('.').at(-1)!
const imageTypes: Record<string, string> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}

/** One message, with its `ts`. */
export const findSlackMessage = async (source: SlackSource, message: Message) =>
  asSlackMessage(message, await findReferences(source, [message]))

export const asSlackChannel = (channel: Omit<Channel, 'members'> & { isMember?: boolean }) => ({
  id: channel.id,
  name: channel.name,
  is_channel: !channel.isPrivate,
  is_group: channel.isPrivate,
  is_im: false,
  is_private: channel.isPrivate,
  is_archived: false,
  is_general: false,
  is_member: channel.isMember ?? false,
  created: Math.floor(channel.createdAt / 1_000),
  creator: channel.createdBy ?? '',
  num_members: channel.memberCount,
  topic: { value: channel.topic ?? '', creator: '', last_set: 0 },
  purpose: { value: '', creator: '', last_set: 0 },
})

/** A direct conversation, from the point of view of one of its two people. */
export const asSlackDirect = ({ id, otherUser, createdAt }: Pick<Conversation, 'id' | 'otherUser' | 'createdAt'>) => ({
  id,
  is_im: true,
  user: otherUser.id,
  created: Math.floor(createdAt / 1_000),
})

export const asSlackUser = (user: User) => {
  const realName = user.displayName ?? user.userName
  return {
    id: user.id,
    name: user.userName,
    real_name: realName,
    deleted: !user.isActive,
    is_admin: user.isAdmin,
    // Programs recognise guests by these two.
    is_restricted: user.role === 'guest',
    is_ultra_restricted: false,
    is_bot: user.isBot,
    profile: {
      real_name: realName,
      display_name: user.userName,
      title: user.title ?? '',
      email: user.email,
      ...asSlackStatus(user.customStatus),
    },
  }
}

/** A custom status. Events of the previous version have none. */
const asSlackStatus = (status: User['customStatus'] | undefined) => ({
  status_text: status?.text ?? '',
  status_emoji: status?.emoji ? `:${slackReactionName(status.emoji)}:` : '',
  status_expiration: Math.floor((status?.expiresAt ?? 0) / 1_000),
})

/** The reactions with their names in Slack. Several spellings of one emoji become one reaction. */
function asSlackReactions(reactions: Message['reactions']) {
  const usersByName = new Map<string, Set<string>>()
  for (const [reaction, users] of Object.entries(reactions)) {
    const name = slackReactionName(reaction)
    usersByName.set(name, new Set([...(usersByName.get(name) ?? []), ...users]))
  }
  return [...usersByName].map(([name, users]) => ({ name, users: [...users], count: users.size }))
}

const secondsOf = (milliseconds: number) => `${Math.floor(milliseconds / 1_000)}.000000`
