import type { OutboxEntry } from '@parley/client'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { serverText, t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'
import { reportStorageFailure } from '../ui/problems.ts'
import { useUniqueId } from '../ui/unique-id.ts'
import { Avatar } from './avatar.tsx'
import { renderMessageText } from './long-text.tsx'

interface PendingArticleProps {
  entry: OutboxEntry
  workspace: Workspace
  /** Whether author and state are shown in a line above the text. Otherwise the state is beside the text. */
  isHead: boolean
  isReachedByTab: boolean
}

/** A message of the outbox. */
export function PendingArticle({ entry, workspace, isHead, isReachedByTab }: PendingArticleProps) {
  const { id, body, failure, state } = entry
  const userName = workspace.me.value.userName
  const ids = useUniqueId()
  const hasFailed = state === 'failed'
  useAnnouncedFailure(entry)
  const stateText = hasFailed ? t('Not sent') : t('Sending…')
  const sendState = (
    <span class="send-state" id={`${ids}-state`} data-failed={hasFailed || undefined}>
      {stateText}
    </span>
  )
  return (
    <article
      class="message pending"
      data-head={isHead || undefined}
      data-message={id}
      tabIndex={isReachedByTab ? 0 : -1}
      {...(isHead ? { 'aria-labelledby': `${ids}-author ${ids}-state` } : { 'aria-label': `${userName} ${stateText}` })}
      aria-describedby={`${ids}-text`}
    >
      {isHead ? <Avatar workspace={workspace} name={userName} id={workspace.myId} /> : <span />}
      <div class="message-body">
        {isHead ? (
          <div class="message-head">
            <span class="author" id={`${ids}-author`}>
              <bdi>{userName}</bdi>
            </span>
            {sendState}
          </div>
        ) : (
          sendState
        )}
        {/* A long text is cut as in the sent message, so that nothing moves when it is sent. */}
        {renderMessageText({ messageId: id, id: `${ids}-text`, content: body.content, workspace })}
        <FileCount body={body} />
        {hasFailed && (
          <p class="send-state" data-failed>
            {failure && serverText(failure.error)}{' '}
            <button
              type="button"
              class="link-button"
              onClick={() => void workspace.retryMessage(id).catch(reportStorageFailure)}
            >
              {t('Retry')}
            </button>{' '}
            <button
              type="button"
              class="link-button"
              onClick={() => void workspace.discardMessage(id).catch(reportStorageFailure)}
            >
              {t('Discard')}
            </button>
          </p>
        )}
      </div>
    </article>
  )
}

/** Tells screen readers when a message could not be sent, because its writer may be far away from it. */
function useAnnouncedFailure({ state, failure }: OutboxEntry) {
  const before = useRef(state)
  useEffect(() => {
    // What had failed before it was rendered is known already.
    if (state === 'failed' && before.current !== 'failed')
      announce([t('The message could not be sent'), failure && serverText(failure.error)].filter(Boolean).join('. '))
    before.current = state
  }, [state])
}

/** The number of files of an unsent message. The files themselves are uploaded already. */
export const FileCount = ({ body }: { body: OutboxEntry['body'] }) => {
  const count = (body.attachments?.length ?? 0) + (body.images?.length ?? 0)
  return count === 0 ? null : <p class="quiet">{t('{count, plural, one {# file} other {# files}}', { count })}</p>
}
