import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const pauseMs = 700

/** The one live region for new messages of others in the open channel. Messages that come together are told together. */
export function Announcements({ workspace, channelId }: { workspace: Workspace; channelId: string }) {
  const text = useSignal('')
  useEffect(() => {
    let waiting: string[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = workspace.listen(({ type, payload }) => {
      if (type !== 'NEW_MESSAGE' && type !== 'NEW_DM_MESSAGE') return
      if (payload.channelId !== channelId || payload.author.id === workspace.myId) return
      waiting.push(`${payload.author.userName}: ${payload.content}`)
      timer ??= setTimeout(() => {
        text.value = waiting.length > 3 ? t('{count} new messages', { count: waiting.length }) : waiting.join('\n')
        waiting = []
        timer = undefined
      }, pauseMs)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [channelId])
  return (
    <div class="visually-hidden" aria-live="polite" role="log" aria-label={t('New messages')}>
      {text.value}
    </div>
  )
}
