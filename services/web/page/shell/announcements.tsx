import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { address } from '../app/address.ts'
import { isRemoval } from '../app/commands.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const pauseMs = 700
const mostRead = 3
/** Nobody wants to hear a whole page. */
const mostCharacters = 500

/** The one live region for new messages of others in what is open. Messages that come together are told together. */
export function Announcements({ workspace }: { workspace: Workspace }) {
  const told = useSignal({ number: 0, text: '' })
  const { value: shown } = address
  const openId = shown.view === 'channel' ? shown.id : undefined
  const openThread = shown.view === 'channel' ? shown.threadId : undefined
  useEffect(() => {
    let waiting: string[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = workspace.listen(({ type, payload }) => {
      const isMessage = type === 'NEW_MESSAGE' || type === 'NEW_DM_MESSAGE'
      const isWhisper = type === 'EPHEMERAL_MESSAGE'
      const isReply = type === 'NEW_THREAD_REPLY' && payload.parentMessageId === openThread
      const message = isMessage || isWhisper ? payload : isReply ? payload.reply : undefined
      if (!message || message.channelId !== openId || message.author.id === workspace.myId) return
      if (!workspace.isLive(message) || (isWhisper && isRemoval(payload))) return
      const words = `${message.author.userName}: ${beginningOf(message.content)}`
      waiting.push(isWhisper ? `${t('Only visible to you')}. ${words}` : words)
      timer ??= setTimeout(() => {
        const text =
          waiting.length > mostRead ? t('{count} new messages', { count: waiting.length }) : waiting.join('\n')
        told.value = { number: told.value.number + 1, text }
        waiting = []
        timer = undefined
      }, pauseMs)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [openId, openThread])
  return (
    <div class="visually-hidden" aria-live="polite">
      {/* The same text a second time is a new element: it is told again. */}
      <p key={told.value.number}>{told.value.text}</p>
    </div>
  )
}

const beginningOf = (text: string) =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters).toWellFormed()}…` : text
