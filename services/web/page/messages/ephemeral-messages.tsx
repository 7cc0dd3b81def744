import type { EphemeralMessage } from '@parley/contract'
import { useEffect, useRef } from 'preact/hooks'
import { textOfMessage } from '../app/ephemeral-messages.ts'
import type { Workspace } from '../app/workspace.ts'
import { timeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { useUniqueId } from '../ui/unique-id.ts'
import { Avatar } from './avatar.tsx'
import { Blocks } from './blocks.tsx'
import { Text } from './markup.tsx'

interface EphemeralMessagesProps {
  messages: readonly EphemeralMessage[]
  workspace: Workspace
}

/** The ephemeral messages from commands and buttons. They are shown above the composer until the person dismisses them. */
export function EphemeralMessages({ messages, workspace }: EphemeralMessagesProps) {
  const box = useRef<HTMLElement>(null)
  const newest = messages.at(-1)?.id
  // A long message is read from its beginning.
  useEffect(() => {
    const list = box.current!
    list.scrollTop += list.lastElementChild!.getBoundingClientRect().top - list.getBoundingClientRect().top
  }, [newest])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section ref={box} class="ephemeral" aria-label={t('Only visible to you')} tabIndex={0}>
      {messages.map((message) => (
        <EphemeralArticle key={message.id} message={message} workspace={workspace} />
      ))}
    </section>
  )
}

function EphemeralArticle({ message, workspace }: { message: EphemeralMessage; workspace: Workspace }) {
  const { id, author, content, blocks, createdAt, updatedAt, clickToken } = message
  const ids = useUniqueId()
  return (
    <article ref={passFocus} class="message" data-head aria-labelledby={`${ids}-head`} aria-describedby={`${ids}-text`}>
      <Avatar workspace={workspace} name={author.userName} id={author.id} icon={author.icon} />
      <div class="message-body">
        <div class="message-head" id={`${ids}-head`}>
          <span class="author">
            <bdi>{author.userName}</bdi> {author.isBot && <span class="bot">{t('BOT')}</span>}
          </span>
          <time class="time" dateTime={new Date(createdAt).toISOString()}>
            {timeOf(createdAt)}
          </time>
          <span class="quiet">{t('Only visible to you')}</span>
          <IconButton icon="close" name={t('Dismiss')} onClick={() => workspace.ephemeral.dismiss(message)} />
        </div>
        {blocks.length > 0 ? (
          <Blocks
            // A new version of the message begins without the errors of buttons of the old version.
            key={updatedAt}
            id={`${ids}-text`}
            message={{ content, blocks, mentions: [], ...(clickToken && { id, clickToken }) }}
            workspace={workspace}
          />
        ) : (
          <Text id={`${ids}-text`} content={textOfMessage(message)} mentions={[]} workspace={workspace} />
        )}
      </div>
    </article>
  )
}
