import type { OutboxEntry } from '@parley/client'
import { useId } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Avatar } from './avatar.tsx'
import { Text } from './markup.tsx'

interface PendingArticleProps {
  entry: OutboxEntry
  workspace: Workspace
  isReachedByTab: boolean
}

/** A message of the outbox. */
export function PendingArticle({ entry, workspace, isReachedByTab }: PendingArticleProps) {
  const { id, body, failure, state } = entry
  const userName = workspace.me.value.userName
  const ids = useId()
  const hasFailed = state === 'failed'
  return (
    <article
      class="message"
      data-head
      data-message={id}
      tabIndex={isReachedByTab ? 0 : -1}
      aria-labelledby={`${ids}-author ${ids}-state`}
      aria-describedby={`${ids}-text`}
    >
      <Avatar workspace={workspace} name={userName} id={workspace.myId} />
      <div>
        <div class="message-head">
          <span class="author" id={`${ids}-author`}>
            <bdi>{userName}</bdi>
          </span>
          <span class="send-state" id={`${ids}-state`} data-failed={hasFailed || undefined}>
            {hasFailed ? t('Not sent') : t('Sending…')}
          </span>
        </div>
        <Text id={`${ids}-text`} content={body.content} workspace={workspace} />
        <Waiting body={body} />
        {hasFailed && (
          <p class="send-state" data-failed>
            {failure?.error}{' '}
            <button type="button" class="link-button" onClick={() => void workspace.retry(id)}>
              {t('Retry')}
            </button>{' '}
            <button type="button" class="link-button" onClick={() => void workspace.discard(id)}>
              {t('Discard')}
            </button>
          </p>
        )}
      </div>
    </article>
  )
}

/** The number of files of an unsent message. The files themselves are uploaded already. */
const Waiting = ({ body }: { body: OutboxEntry['body'] }) => {
  const count = (body.attachments?.length ?? 0) + (body.images?.length ?? 0)
  return count === 0 ? null : <p class="quiet">{t('{count, plural, one {# file} other {# files}}', { count })}</p>
}
