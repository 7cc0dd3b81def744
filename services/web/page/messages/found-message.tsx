import type { Message } from '@parley/contract'
import { channelAddress, threadAddress } from '../app/address.ts'
import { PlaceName } from '../app/place-name.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { MessageArticle } from './message.tsx'

interface FoundMessageProps {
  workspace: Workspace
  message: Message
  onChanged: (message: Message) => void
}

/** One message of a list from several channels, below the name of its channel or conversation. A reply has a link to its thread. */
export const FoundMessage = ({ workspace, message, onChanged }: FoundMessageProps) => (
  <div class="found">
    <p class="where">
      <a href={channelAddress(message.channelId)}>
        <PlaceName workspace={workspace} id={message.channelId} />
      </a>
      {message.threadId !== null && (
        <>
          {' · '}
          <a href={threadAddress(message.channelId, message.threadId)}>{t('Thread')}</a>
        </>
      )}
    </p>
    <MessageArticle message={message} workspace={workspace} isHead view="other" onChanged={onChanged} />
  </div>
)
