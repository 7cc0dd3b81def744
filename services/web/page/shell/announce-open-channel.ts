import { computed, effect } from '@preact/signals'
import { address, openPlaceId } from '../app/address.ts'
import { isRemoval, textOfMessage } from '../app/ephemeral-messages.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'

const pauseMs = 700
const maxRead = 3
/** A screen reader reads only this part of a longer message. */
const maxCharacters = 500

const openThread = computed(() => (address.value.view === 'channel' ? address.value.threadId : undefined))

/** Announces new messages of the open channel or thread to screen readers. Those that come together are joined. Returns a function that ends it. */
export function announceOpenChannel(workspace: Workspace): () => void {
  let waiting: string[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  function announceWaiting() {
    announce(waiting.length > maxRead ? t('{count} new messages', { count: waiting.length }) : waiting.join('\n'))
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
    const words = `${message.author.userName}: ${beginningOf(textOfMessage(message))}`
    waiting.push(isEphemeral ? `${t('Only visible to you')}. ${words}` : words)
    timer ??= setTimeout(announceWaiting, pauseMs)
  })
  return () => {
    stopListening()
    stopFollowing()
  }
}

const beginningOf = (text: string) =>
  text.length > maxCharacters ? `${text.slice(0, maxCharacters).toWellFormed()}…` : text
