import { useEffect } from 'preact/hooks'
import { address } from '../app/address.ts'
import { isRemoval, textOfMessage } from '../app/commands.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { announce, announced } from '../ui/announced.ts'

const pauseMs = 700
const maxRead = 3
/** A screen reader reads only this part of a longer message. */
const maxCharacters = 500

/**
 * The live region of everything that screen readers announce. New messages of the open channel or thread are announced here, and those that
 * come together are joined.
 */
export function Announcements({ workspace }: { workspace: Workspace }) {
  const { value: shown } = address
  const openId = shown.view === 'channel' ? shown.id : undefined
  const openThread = shown.view === 'channel' ? shown.threadId : undefined
  useEffect(() => {
    let waiting: string[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = workspace.listen(({ type, payload }) => {
      const isMessage = type === 'NEW_MESSAGE' || type === 'NEW_DM_MESSAGE'
      const isEphemeral = type === 'EPHEMERAL_MESSAGE'
      const isReply = type === 'NEW_THREAD_REPLY' && payload.parentMessageId === openThread
      const message = isMessage || isEphemeral ? payload : isReply ? payload.reply : undefined
      if (!message || message.channelId !== openId || message.author.id === workspace.myId) return
      if (!workspace.isLive(message) || (isEphemeral && isRemoval(payload))) return
      const words = `${message.author.userName}: ${beginningOf(textOfMessage(message))}`
      waiting.push(isEphemeral ? `${t('Only visible to you')}. ${words}` : words)
      timer ??= setTimeout(() => {
        announce(waiting.length > maxRead ? t('{count} new messages', { count: waiting.length }) : waiting.join('\n'))
        waiting = []
        timer = undefined
      }, pauseMs)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [openId, openThread])
  // The next person must not find the last text.
  useEffect(() => () => announce(''), [])
  return (
    <div class="visually-hidden" aria-live="polite">
      {/* A new key creates a new element, so that the same text is announced a second time. */}
      <p key={announced.value.number}>{announced.value.text}</p>
    </div>
  )
}

const beginningOf = (text: string) =>
  text.length > maxCharacters ? `${text.slice(0, maxCharacters).toWellFormed()}…` : text
