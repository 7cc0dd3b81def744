import type { OutboxEntry } from '@parley/client'
import type { Author, Message } from '@parley/contract'

/** A row of the list: a day line, the unread line, or a message. */
export type Row =
  | { kind: 'day'; key: string; at: number }
  | { kind: 'unread'; key: string }
  | { kind: 'message'; key: string; message: Message; isHead: boolean }
  | { kind: 'pending'; key: string; entry: OutboxEntry }

interface RowsOptions {
  messages: readonly Message[]
  outbox: readonly OutboxEntry[]
  /** The ids of messages whose deletion is still waiting. */
  hidden: ReadonlySet<string>
  myId: string
  /** All messages after this `seq` are unread. */
  readSeq: number | undefined
}

const closeTogetherMs = 5 * 60_000

/** The row of each message. It stays the same object while nothing in it changes, so that it does not render again. */
const made = new WeakMap<Message, Row & { kind: 'message' }>()

/** The rows of a list: the messages in their order, with day lines and the unread line between them, and then the unsent messages. */
export function rowsOf({ messages, outbox, hidden, myId, readSeq }: RowsOptions): Row[] {
  const rows: Row[] = []
  let previous: Message | undefined
  let day = { begins: 0, ends: 0 }
  let hasLine = false
  for (const message of messages) {
    if (hidden.has(message.id)) continue
    const { createdAt } = message
    const isNewDay = createdAt < day.begins || createdAt >= day.ends
    if (isNewDay) {
      day = dayAround(createdAt)
      rows.push({ kind: 'day', key: `day ${message.id}`, at: createdAt })
    }
    const isFirstUnread = !hasLine && readSeq !== undefined && message.seq > readSeq && message.author.id !== myId
    if (isFirstUnread) {
      hasLine = true
      rows.push({ kind: 'unread', key: 'unread' })
    }
    const follows =
      previous !== undefined &&
      isSameAuthor(previous.author, message.author) &&
      createdAt - previous.createdAt < closeTogetherMs &&
      message.quotedMessageId === null
    rows.push(rowOf(message, isNewDay || isFirstUnread || !follows))
    previous = message
  }
  return [...rows, ...outbox.map((entry): Row => ({ kind: 'pending', key: entry.id, entry }))]
}

export const isArticle = ({ kind }: Row) => kind === 'message' || kind === 'pending'

function rowOf(message: Message, isHead: boolean): Row {
  const known = made.get(message)
  if (known?.isHead === isHead) return known
  const row = { kind: 'message', key: message.id, message, isHead } as const
  made.set(message, row)
  return row
}

/** A webhook may post under several names, and then they count as several authors. */
const isSameAuthor = (a: Author, b: Author) =>
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
