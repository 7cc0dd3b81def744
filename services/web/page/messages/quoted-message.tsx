import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { ignoreFailure } from '../ui/retries.ts'
import { beginningOf } from './long-text.tsx'
import { Text } from './markup.tsx'

interface QuotedMessageProps {
  id: string
  /** The channel or conversation of the message that quotes it. */
  channelId: string
  workspace: Workspace
}

/** The message that another message quotes. When the workspace does not have it, it is fetched. */
export function QuotedMessage({ id, channelId, workspace }: QuotedMessageProps) {
  const known = workspace.message(channelId, id)
  const fetched = useSignal<Message | null>(null)
  useEffect(() => {
    if (known) return
    workspace.client.request('GET /messages/:messageId', { params: { messageId: id } }).then(({ message }) => {
      fetched.value = message
      // The quotation stays empty when the message was deleted, or when the person may not read it.
    }, ignoreFailure)
    // The messages of a channel are forgotten and fetched again when the person joins it, perhaps without the quoted one.
  }, [id, known === undefined])
  const quoted = known ?? fetched.value
  return (
    <blockquote class="quoted">
      {quoted ? (
        <>
          <a href={messageAddress(quoted.channelId, quoted.id, quoted.threadId)} class="author" dir="auto">
            {quoted.author.userName}
          </a>
          <Text content={beginningOf(quoted.content)} mentions={quoted.mentions} workspace={workspace} />
        </>
      ) : (
        <span>{t('This message is not available')}</span>
      )}
    </blockquote>
  )
}
