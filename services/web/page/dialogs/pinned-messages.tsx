import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { address } from '../app/address.ts'
import { pinMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { MessageArticle } from '../messages/message.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Empty } from '../ui/empty.tsx'
import { passFocus } from '../ui/focus.ts'

interface PinnedMessagesProps {
  workspace: Workspace
  channelId: string
  onClose: () => void
}

/** The pinned messages of a channel, the newest pin first. Whoever can read them may unpin them. */
export function PinnedMessages({ workspace, channelId, onClose }: PinnedMessagesProps) {
  useEffect(() => {
    void workspace.openPins(channelId)
  }, [channelId])
  const dialog = useRef<HTMLDialogElement>(null)
  // A link of a message leads to a view below the dialog. That view takes the focus when it is rendered, so the dialog closes before. The
  // effect may end a moment after the dialog was removed.
  useEffect(() => {
    const openedAt = address.peek()
    return effect(() => {
      if (address.value !== openedAt) dialog.current?.close()
    })
  }, [])
  const pins = workspace.pins(channelId)?.filter((message) => workspace.shown(message).pinnedAt !== null)
  return (
    <Dialog name={t('Pinned messages')} class="wide" element={dialog} onClose={onClose}>
      {pins?.length === 0 && (
        <Empty icon="pin" title={t('Nothing is pinned')} hint={t('“Pin” in the menu of a message keeps it here.')} />
      )}
      {pins?.map((message) => (
        <div key={message.id} ref={passFocus} class="pinned">
          <MessageArticle message={message} workspace={workspace} isHead view="other" />
          <button
            type="button"
            class="link-button"
            onClick={({ detail }) => {
              // The second press of a double click would unpin the next message.
              if (detail < 2) void pinMessage(workspace, message, false)
            }}
          >
            {t('Unpin')}
          </button>
        </div>
      ))}
    </Dialog>
  )
}
