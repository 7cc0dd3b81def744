import { isConversationId, rowIdOf } from '@parley/access'
import type { Message } from '@parley/contract'
import { type Deps, slackRefusal } from '@parley/service'
import { parseMoment, parseTs } from '@parley/slack'
import { messagesPath } from '../api-paths.ts'
import { asSlackMessage } from '../slack-objects/slack-objects.ts'
import { findReferences } from '../slack-objects/slack-references.queries.ts'
import { findFirstMessageFrom } from '../slack-objects/slack-timestamps.queries.ts'
import {
  type Arguments,
  booleanOf,
  numberOf,
  pageSize,
  readCursor,
  type SlackCall,
  textOf,
  writeCursor,
} from './slack-call.ts'
import { findChannelId, findMessageByTs } from './targets.ts'

/** `conversations.history`: newest first. */
export async function history(call: SlackCall) {
  const { deps, args } = call
  const limit = numberOf(args, 'limit', pageSize)
  const span = spanOf(args)
  const channel = await findChannelId(call)
  const path = `${messagesPath(channel)}?${new URLSearchParams({ limit: String(limit) })}`
  const get = (before: string | undefined) => {
    const asked = before === undefined ? path : `${path}&before=${encodeURIComponent(before)}`
    return call.ask({ service: 'messaging', method: 'GET', path: asked }, { 400: 'invalid_cursor' })
  }
  const cursor = readCursor(args)
  // This request comes first, because it refuses callers who may not read the channel.
  const newest = await get(cursor)
  const firstAfter = cursor === undefined ? await firstMessageAfter(deps, { channel, threadId: null }, span) : undefined
  const { messages, hasOlder }: { messages: Message[]; hasOlder: boolean } = firstAfter
    ? await get(firstAfter.id)
    : newest
  const references = await findReferences(deps, messages)
  const shown = messages.filter((message) => isWithin(span, references.of(message)))
  const more = hasOlder && shown.length > 0 && shown[0] === messages[0]
  return {
    messages: shown.toReversed().map((message) => asSlackMessage(message, references)),
    has_more: more,
    pin_count: 0,
    ...writeCursor(more ? messages[0]?.id : undefined),
  }
}

/** `conversations.replies`: the parent, then its replies, oldest first. */
export async function replies(call: SlackCall) {
  const { deps, args } = call
  const limit = numberOf(args, 'limit', pageSize)
  const span = spanOf(args)
  const after = readCursor(args)
  const channel = await findChannelId(call)
  const found = await findMessageByTs(call, channel, args.ts, 'thread_not_found')
  const parentId = found.threadId ?? found.id
  const errorCodes = { 400: 'invalid_cursor', 404: 'thread_not_found' }
  const get = (path: string) => call.ask({ service: 'messaging', method: 'GET', path }, errorCodes)
  const { message: parent }: { message: Message } = await get(`/messages/${parentId}`)
  const start = await findStart(deps, { channel, threadId: parentId }, { after, from: span.from })
  const { replies: listed, hasNewer } = start
    ? await get(`/messages/${parentId}/thread?${new URLSearchParams({ limit: String(limit), ...start })}`)
    : { replies: [], hasNewer: false }
  const all: Message[] = [...(after === undefined ? [parent] : []), ...listed]
  const references = await findReferences(deps, all)
  const shown = all.filter((message) => message === parent || isWithin(span, references.of(message)))
  const more = hasNewer && (listed.length === 0 || isWithin(span, references.of(listed.at(-1))))
  return {
    messages: shown.map((message) => asSlackMessage(message, references)),
    has_more: more,
    ...writeCursor(more ? listed.at(-1)?.id : undefined),
  }
}

/**
 * The parameter that says where a page of replies begins: after the previous page, or at the first reply from a moment on.
 * Undefined when all replies are earlier, and for a direct conversation, which has no threads.
 */
async function findStart(
  deps: Deps,
  list: { channel: string; threadId: string },
  { after, from }: { after: string | undefined; from: number },
): Promise<{ after: string } | { aroundSeq: string } | undefined> {
  if (isConversationId(list.channel)) return undefined
  if (after !== undefined) return { after }
  if (from === 0) return { aroundSeq: '0' }
  const first = await firstMessageFrom(deps, list, from)
  return first && { aroundSeq: String(first.seq) }
}

/** A span from one `ts` to another in microseconds. Both ends belong to it. */
interface Span {
  from: number
  to: number
}

/** The span between the arguments `oldest` and `latest`. These two belong to it only with `inclusive`. */
function spanOf(args: Arguments): Span {
  const oldest = momentOf(args, 'oldest')
  const latest = momentOf(args, 'latest')
  const isInclusive = booleanOf(args, 'inclusive')
  return {
    from: oldest === undefined ? 0 : isInclusive ? oldest : oldest + 1,
    to: latest === undefined ? Number.MAX_SAFE_INTEGER : isInclusive ? latest : latest - 1,
  }
}

function momentOf(args: Arguments, name: string): number | undefined {
  const text = textOf(args, name)
  if (text === '') return undefined
  const moment = parseMoment(text)
  if (moment === undefined) throw slackRefusal(`invalid_ts_${name}`)
  return moment
}

const isWithin = ({ from, to }: Span, ts: string) => parseTs(ts)! >= from && parseTs(ts)! <= to

const firstMessageFrom = (
  { db }: Deps,
  { channel, threadId }: { channel: string; threadId: string | null },
  ts: number,
) => findFirstMessageFrom(db, { channelId: rowIdOf(channel), threadId }, ts)

/** The first message after the span; undefined when there is none. */
const firstMessageAfter = async (deps: Deps, list: { channel: string; threadId: null }, { to }: Span) =>
  to === Number.MAX_SAFE_INTEGER ? undefined : firstMessageFrom(deps, list, to + 1)
