import { RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { address, channelAddress, messageAddress, navigate } from '../app/address.ts'
import { hasAttention } from '../app/attention.ts'
import { nameOfPlace, type Place, readStateOfPlace, type Workspace } from '../app/workspace.ts'
import { Composer } from '../messages/composer.tsx'
import { useEditing } from '../messages/editing.ts'
import { EphemeralMessages } from '../messages/ephemeral-messages.tsx'
import { MessageList } from '../messages/message-list.tsx'
import { useUnsent } from '../messages/rows.ts'
import { t } from '../texts/texts.ts'
import { useFileDrop } from '../ui/file-drop.ts'
import { Icon } from '../ui/icons.tsx'
import { memo } from '../ui/memo.ts'
import { attempt, isTemporary } from '../ui/problems.ts'
import { useStable } from '../ui/stable.ts'
import { ChannelHead } from './channel-head.tsx'
import { useNamedSeq } from './named-seq.ts'
import { useReading } from './reading.ts'

/** The pause before the next try, after the client's own retries have failed. */
const retryMs = 5_000

interface ChannelViewProps {
  workspace: Workspace
  id: string
  messageId: string | undefined
  /** Whether the person sees the navigation or a thread instead. */
  isCovered: boolean
}

/** One channel or conversation: its head, its messages and the composer. */
export function ChannelView({ workspace, id, messageId, isCovered }: ChannelViewProps) {
  const place = workspace.place(id)
  const isMissing = useSignal(false)
  const wasShown = useRef(false)
  if (place) wasShown.current = true
  /** It was deleted, or the person was removed from it, or has left it. Whoever leaves a public channel may still read it. */
  const isLost = wasShown.current && !place
  /** The present attempt to open the channel. A refused one is followed by another when the person is added to the channel. */
  const opening = useRef({ wasRefused: false })
  if (place && opening.current.wasRefused) opening.current = { wasRefused: false }

  useEffect(() => {
    const leaving = new AbortController()
    isMissing.value = false
    const opened = messageId === undefined ? workspace.open(id) : openMessage(workspace, id, messageId, leaving.signal)
    opened.catch((error) => {
      if (leaving.signal.aborted) return
      if (!(error instanceof RequestFailed)) throw error
      isMissing.value = true
      opening.current.wasRefused = workspace.place(id) === undefined
    })
    return () => leaving.abort()
  }, [messageId, isLost, opening.current])
  useEffect(() => () => workspace.close(id), [id])

  if (isMissing.value) {
    return (
      <main class="main">
        <div class="empty">
          <Icon name="search" />
          <h1>{t('Not found')}</h1>
          <p>{t('There is no such channel or message, or you may not read it.')}</p>
        </div>
      </main>
    )
  }
  if (!place) return <main class="main" aria-busy="true" />
  return <OpenChannel workspace={workspace} id={id} place={place} messageId={messageId} isCovered={isCovered} />
}

/** A reply is shown in its thread, beside the channel. @throws RequestFailed when the server refuses it. */
async function openMessage(workspace: Workspace, id: string, messageId: string, leaving: AbortSignal) {
  const message = workspace.message(id, messageId) ?? (await fetchMessage(workspace, messageId, leaving))
  if (message.channelId !== id || message.threadId !== null) {
    navigate(messageAddress(message.channelId, messageId, message.threadId), { replace: true })
    return
  }
  await workspace.openAround(id, { id: messageId })
}

/** Fetches a message, and retries until the server responds or refuses. `leaving` aborts it. */
async function fetchMessage({ client }: Workspace, messageId: string, leaving: AbortSignal): Promise<Message> {
  for (;;) {
    try {
      const input = { params: { messageId }, signal: leaving }
      return (await client.request('GET /messages/:messageId', input)).message
    } catch (error) {
      if (leaving.aborted || !(error instanceof RequestFailed && isTemporary(error))) throw error
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

const none: readonly [] = []

type OpenChannelProps = ChannelViewProps & { place: Place }

function OpenChannel({ workspace, id, place, messageId, isCovered }: OpenChannelProps) {
  const isAtEnd = useSignal(messageId === undefined)
  /** The `seq` of the first unread message, while the messages around it are shown. */
  const unreadSeq = useSignal<number | undefined>(undefined)
  const namedSeq = useNamedSeq(workspace, id, messageId)
  const seq = namedSeq ?? unreadSeq.value
  const position = seq === undefined ? undefined : { seq }
  const messages = messageId !== undefined && namedSeq === undefined ? undefined : workspace.messages(id, position)
  const unsent = useUnsent(workspace, id)
  const newestSeq = messages?.at(-1)?.seq ?? 0
  const { unreadCount, readSeq, lastSeq } = readStateOfPlace(place)

  const isMarked = workspace.marks.isMarked(id, { readSeq })
  const isAway = isCovered || !hasAttention.value
  const isSeen = newestSeq > 0 && isAtEnd.value && !isMarked && !isAway
  const seenSeq = useReading(workspace, { id, unreadCount, newestSeq, isSeen })
  const line = useUnreadLine(workspace, id, { readSeq, seenSeq, unreadCount, isMarked, isAtEnd: isAtEnd.value, isAway })
  /** The number of times that the person has chosen which part of the channel they see. */
  const choices = useRef(0)
  const showPart = (seq?: number) => {
    choices.current++
    unreadSeq.value = seq
  }
  useEffect(() => showPart(), [messageId])

  useEffect(() => void workspace.quotations.check(id), [])

  const dropTarget = useFileDrop((files) => workspace.files.add(id, id, files))
  const name = nameOfPlace(place)
  const box = useRef<HTMLTextAreaElement>(null)
  const editing = useEditing(workspace, { messages, unsent, box })
  const toNewest = useStable((isByKey: boolean) => {
    showPart()
    if (messageId !== undefined) navigate(channelAddress(id))
    // The button that had the focus is removed. Without a keyboard the text box must not get it: a phone would show its keyboard.
    if (isByKey) box.current!.focus()
  })
  const onSent = useStable(() => toNewest(false))
  const takesFocus = useStable(() => !isElsewhere(workspace) && messageId === undefined && !isThreadOpen())
  return (
    <main class="main" {...dropTarget}>
      <ChannelHead workspace={workspace} place={place} />
      <MessageList
        // Another part of the channel is another list, so it begins at its own position.
        key={messageId ?? (unreadSeq.value === undefined ? 'newest' : 'unread')}
        workspace={workspace}
        name={t('Messages in {name}', { name })}
        messages={messages}
        outbox={position && workspace.hasNewer(id, position) ? none : unsent}
        view="channel"
        unreadCount={unreadCount}
        hasOlder={workspace.hasOlder(id, position)}
        onOlder={() => workspace.loadOlder(id, position)}
        hasNewer={workspace.hasNewer(id, position)}
        onNewer={() => workspace.loadNewer(id, position)}
        onNewest={toNewest}
        readSeq={line.seq}
        onFirstUnread={() => {
          const first = line.seq! + 1
          const choice = ++choices.current
          const opened = workspace.openAround(id, { seq: first }).then(() => {
            // Otherwise it was loaded late, and the person has chosen another part meanwhile.
            if (choice === choices.current) showPart(first)
          })
          void attempt(opened)
        }}
        target={messageId === undefined ? (unreadSeq.value === undefined ? undefined : 'unread') : { messageId }}
        editedId={editing.editedId}
        onEdit={editing.edit}
        onQuote={(message) => {
          workspace.quotations.set(id, { id: message.id, userName: message.author.userName })
          box.current!.focus()
        }}
        onUnread={(message) => {
          workspace.marks.set(id, message, { messages: messages!, hasNewer: workspace.hasNewer(id, position), lastSeq })
          line.mark(message.seq - 1)
        }}
        onAtEnd={(value) => (isAtEnd.value = value)}
        {...(position === undefined && { onTooMany: (most: number) => workspace.trim(id, most) })}
      />
      <EphemeralMessages workspace={workspace} channelId={id} />
      <Composer
        workspace={workspace}
        channelId={id}
        name={t('Message {name}', { name })}
        takesFocus={takesFocus}
        box={box}
        onEditLast={editing.editLast}
        onSent={onSent}
      />
      <Typing workspace={workspace} id={id} />
    </main>
  )
}

const isThreadOpen = () => {
  const shown = address.peek()
  return shown.view === 'channel' && shown.threadId !== undefined
}

/** The workspace in which a channel was opened. The first one opens by itself. */
let openedIn: Workspace | undefined

/**
 * Whether the person is typing a search or is in a menu, or, when the first channel opens, uses anything in the top bar. They keep the
 * focus.
 */
function isElsewhere(workspace: Workspace): boolean {
  const elements = openedIn === workspace ? '.search input:not(:placeholder-shown), [role=menuitem]' : '.top-bar *'
  openedIn = workspace
  return document.activeElement?.matches(elements) === true
}

interface UnreadLineOptions {
  /** The read state of the server, which is up to half a second behind. */
  readSeq: number
  /** The `seq` of the newest message that the person has seen since they opened the channel, or 0. */
  seenSeq: number
  unreadCount: number
  /** Whether the person has marked a message as unread. */
  isMarked: boolean
  isAtEnd: boolean
  /** Whether the person does not look at the channel. */
  isAway: boolean
}

/**
 * The position of the unread line. It is before the messages that were unread when the channel was opened, or before those that came while
 * the person did not look at the newest message. It stays until the person leaves the page at the newest message.
 */
function useUnreadLine(
  workspace: Workspace,
  id: string,
  { readSeq, seenSeq, unreadCount, isMarked, isAtEnd, isAway }: UnreadLineOptions,
) {
  const seq = useSignal<number | undefined>(undefined)
  const isFirstRender = useRef(true)
  if (isFirstRender.current) {
    const marked = workspace.marks.take(id, { readSeq })
    seq.value = marked === undefined ? (unreadCount > 0 ? readSeq : undefined) : marked - 1
    isFirstRender.current = false
  }
  useEffect(() => {
    if (unreadCount > 0) {
      if (isAway || !isAtEnd) seq.value ??= Math.max(readSeq, seenSeq)
    } else if (isAway && isAtEnd && !isMarked) seq.value = undefined
  }, [isAway, isAtEnd, unreadCount === 0])
  return { seq: seq.value, mark: (next: number) => (seq.value = next) }
}

/** The names of more people do not fit into the line. */
const maxNamed = 3

const Typing = memo(function Typing({ workspace, id }: { workspace: Workspace; id: string }) {
  const names = workspace.typing.names(id)
  return (
    <div class="below-composer">
      {names.length > maxNamed
        ? t('Several people are typing…')
        : names.length > 0 &&
          t('{count, plural, one {{names} is typing…} other {{names} are typing…}}', {
            count: names.length,
            names: new Intl.ListFormat(document.documentElement.lang).format(names),
          })}
    </div>
  )
})
