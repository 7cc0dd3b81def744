import type { OutboxEntry } from '@parley/client'
import type { Author, Message } from '@parley/contract'

/** A row of the list: a day line, the unread line, or a message. */
export type Row =
  /** `below` is the key of the message below the line. */
  | { kind: 'day'; key: string; below: string; at: number }
  /** With `at`, the day of this time begins there too, so that one line is enough. */
  | { kind: 'unread'; key: string; below: string; at: number | undefined }
  | { kind: 'message'; key: string; message: Message; isHead: boolean }
  | { kind: 'pending'; key: string; entry: OutboxEntry; isHead: boolean }

interface RowsOptions {
  messages: readonly Message[]
  outbox: readonly OutboxEntry[]
  /** The ids of messages whose deletion is still waiting. */
  hidden: ReadonlySet<string>
  myId: string
  /** The unread line is before the first message of others after this `seq`. */
  lineSeq: number | undefined
}

const closeTogetherMs = 5 * 60_000

/** The row of each message. It stays the same object while nothing in it changes, so that it does not render again. */
const messageRows = new WeakMap<Message, Row & { kind: 'message' }>()

/**
 * The rows of a list: the messages in their order, with day lines and the unread line between them, and then the unsent messages. An
 * unsent message has the same lines above it as the sent one will have, so that nothing moves when it is sent.
 */
export function rowsOf({ messages, outbox, hidden, myId, lineSeq }: RowsOptions): Row[] {
  const rows: Row[] = []
  let previous: RowMessage | undefined
  let day = { begins: 0, ends: 0 }
  let hasLine = false
  const beginsDay = (createdAt: number): boolean => {
    if (createdAt >= day.begins && createdAt < day.ends) return false
    day = dayAround(createdAt)
    return true
  }
  const addDay = (id: string, at: number) => rows.push({ kind: 'day', key: `day ${id}`, below: id, at })
  for (const message of messages) {
    if (hidden.has(message.id)) continue
    const isNewDay = beginsDay(message.createdAt)
    const isFirstUnread = !hasLine && lineSeq !== undefined && message.seq > lineSeq && message.author.id !== myId
    if (isFirstUnread) {
      hasLine = true
      rows.push({ kind: 'unread', key: 'unread', below: message.id, at: isNewDay ? message.createdAt : undefined })
    } else if (isNewDay) addDay(message.id, message.createdAt)
    rows.push(rowOf(message, isNewDay || isFirstUnread || !follows(message, previous)))
    previous = message
  }
  for (const entry of outbox) {
    const message = {
      author: { id: myId, isBot: false },
      createdAt: entry.createdAt,
      quotedMessageId: entry.body.quotedMessageId ?? null,
    }
    const isNewDay = beginsDay(entry.createdAt)
    if (isNewDay) addDay(entry.id, entry.createdAt)
    const isHead = isNewDay || entry.state === 'failed' || !follows(message, previous)
    rows.push({ kind: 'pending', key: entry.id, entry, isHead })
    previous = message
  }
  return rows
}

export const isArticle = ({ kind }: Row) => kind === 'message' || kind === 'pending'

function rowOf(message: Message, isHead: boolean): Row {
  const known = messageRows.get(message)
  if (known?.isHead === isHead) return known
  const row = { kind: 'message', key: message.id, message, isHead } as const
  messageRows.set(message, row)
  return row
}

/** What decides about the head of a message, sent or not. */
type RowMessage = Pick<Message, 'createdAt' | 'quotedMessageId'> & { author: Sender }
type Sender = Pick<Author, 'id' | 'isBot'> & Partial<Pick<Author, 'userName' | 'icon'>>

/** Whether a message continues the previous one, so that author and time are not shown again. */
const follows = (message: RowMessage, previous: RowMessage | undefined) =>
  previous !== undefined &&
  isSameAuthor(previous.author, message.author) &&
  message.createdAt - previous.createdAt < closeTogetherMs &&
  message.quotedMessageId === null

/** A webhook may post under several names, and then they count as several authors. */
const isSameAuthor = (a: Sender, b: Sender) =>
  a.id === b.id && (!b.isBot || (a.userName === b.userName && a.icon === b.icon))

/**
 * The beginning and the end of a day in local time. With them, the date is not computed for each message of a long
 * history.
 */
function dayAround(at: number) {
  const date = new Date(at)
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()]
  return { begins: new Date(year, month, day).getTime(), ends: new Date(year, month, day + 1).getTime() }
}
