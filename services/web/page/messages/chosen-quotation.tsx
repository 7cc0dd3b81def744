import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { IconButton } from '../ui/icons.tsx'
import { beginningOf } from './long-text.tsx'
import { Text } from './markup.tsx'

interface ChosenQuotationProps {
  workspace: Workspace
  channelId: string
  quoted: { id: string; userName: string }
  onRemove: () => void
}

/** The message that the next message will quote, with a button to remove it. */
export function ChosenQuotation({ workspace, channelId, quoted, onRemove }: ChosenQuotationProps) {
  const message = workspace.message(channelId, quoted.id)
  return (
    <div class="chosen-files">
      <span class="chosen-file">
        {t('Quoting {name}', { name: quoted.userName })}
        {message && (
          <div class="excerpt" inert>
            <Text content={beginningOf(message.content)} mentions={message.mentions} workspace={workspace} />
          </div>
        )}
        <IconButton icon="close" name={t('Remove quotation')} onClick={onRemove} />
      </span>
    </div>
  )
}
