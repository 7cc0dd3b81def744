import { computed, effect } from '@preact/signals'
import { address, openPlaceId } from '../app/address.ts'
import { isRemoval } from '../app/ephemeral-messages.ts'
import type { Workspace } from '../app/workspace.ts'
import type { spokenMessage } from '../messages/spoken-message.ts'
import { t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'

const pauseMs = 700
const maxRead = 3

type Waiting = Parameters<typeof spokenMessage>

const openThread = computed(() => (address.value.view === 'channel' ? address.value.threadId : undefined))

/** Announces new messages of the open channel or thread to screen readers. Those that come together are joined. Returns a function that ends it. */
export function announceOpenChannel(workspace: Workspace): () => void {
  let waiting: Waiting[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  async function announceWaiting() {
    const [first] = waiting
    const speak = await loadSpeaker()
    // The person may have opened another channel meanwhile.
    if (waiting[0] !== first) return
    const { length: count } = waiting
    announce(count > maxRead ? t('{count} new messages', { count }) : waiting.map((each) => speak(...each)).join('\n'))
    forget()
  }
  function forget() {
    clearTimeout(timer)
    timer = undefined
    waiting = []
  }

  // What waits belongs to the channel or thread that was open.
  const stopFollowing = effect(() => {
    void openPlaceId.value
    void openThread.value
    return forget
  })
  const stopListening = workspace.listen(({ type, payload }) => {
    const isMessage = type === 'NEW_MESSAGE' || type === 'NEW_DM_MESSAGE'
    const isEphemeral = type === 'EPHEMERAL_MESSAGE'
    const isReply = type === 'NEW_THREAD_REPLY' && payload.parentMessageId === openThread.peek()
    const message = isMessage || isEphemeral ? payload : isReply ? payload.reply : undefined
    if (!message || message.channelId !== openPlaceId.peek() || message.author.id === workspace.myId) return
    if (!workspace.isLive(message) || (isEphemeral && isRemoval(payload))) return
    waiting.push([message, isEphemeral])
    timer ??= setTimeout(announceWaiting, pauseMs)
  })
  return () => {
    stopListening()
    stopFollowing()
  }
}

/** A message must be announced also when the part of the page that removes its markup cannot be loaded. */
const loadSpeaker = () =>
  import('../messages/spoken-message.ts').then(
    ({ spokenMessage }) => spokenMessage,
    () =>
      (...[{ author, content }]: Waiting) =>
        `${author.userName}: ${content}`,
  )
