import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useMemo, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { today } from '../texts/formats.ts'
import { isArticle, rowsOf } from './rows.ts'

/** The messages of a channel or of a thread that are not sent yet. They stay the same array while nothing in them changes. */
export function useOutbox(workspace: Workspace, channelId: string, threadId?: string): readonly OutboxEntry[] {
  const all = workspace.outbox(channelId)
  return useMemo(() => all.filter(({ parentId }) => parentId === threadId), [all, threadId])
}

interface ListMessages {
  /** Undefined while they are fetched, for the first time or again. */
  messages: readonly Message[] | undefined
  outbox: readonly OutboxEntry[]
}

interface ShownRowsOptions extends ListMessages {
  lineSeq?: number | undefined
  hasOlder: boolean
}

export type ShownRows = ReturnType<typeof useShownRows>

/** What a list of messages shows: its messages without those that are being deleted, as rows. */
export function useShownRows(workspace: Workspace, options: ShownRowsOptions) {
  const { lineSeq, hasOlder } = options
  const { messages, outbox } = useKeptMessages(options)
  const { value: hidden } = workspace.deletions.hidden
  /** Whether the first unread message is one of the older ones, which are not loaded. */
  const isLineOutside = lineSeq !== undefined && hasOlder && (messages?.[0]?.seq ?? 0) > lineSeq + 1
  const shownLineSeq = isLineOutside ? undefined : lineSeq
  const rows = useMemo(
    () => rowsOf({ messages: messages ?? [], outbox, hidden, myId: workspace.myId, lineSeq: shownLineSeq }),
    [messages, outbox, hidden, shownLineSeq, today.value],
  )
  return {
    messages,
    outbox,
    rows,
    /** The key of the newest message, also of an unsent one. */
    newestKey: rows.findLast(isArticle)?.key,
    /** The index of the unread line. -1: none. */
    lineIndex: rows.findIndex(({ kind }) => kind === 'unread'),
    isLineOutside,
  }
}

/**
 * The messages of a list, or those that it showed last while they are fetched again: when the person joins the channel, and after a long
 * time offline. Messages that were sent in this moment stay too.
 */
function useKeptMessages({ messages, outbox }: ListMessages): ListMessages {
  const kept = useRef<ListMessages>({ messages, outbox })
  const { current: before } = kept
  if (messages !== undefined) kept.current = { messages, outbox }
  else {
    const ids = new Set(outbox.map(({ id }) => id))
    const sent = before.outbox.filter(({ id, state }) => state !== 'failed' && !ids.has(id))
    kept.current = { messages: before.messages, outbox: [...sent, ...outbox] }
  }
  return kept.current
}
