import type { Message } from '@parley/contract'
import { effect, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { address } from '../app/address.ts'
import { pinMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { partsOf } from '../messages/found-message.tsx'
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
  /** The last change, for people who do not see that the message is gone. */
  const note = useSignal('')
  async function unpin(message: Message) {
    // The same text is announced again only when it was gone meanwhile.
    note.value = ''
    if (await pinMessage(workspace, message, false)) note.value = t('Message unpinned')
  }
  const pins = workspace.pins(channelId)?.filter((message) => workspace.shown(message).pinnedAt !== null)
  return (
    <Dialog name={t('Pinned messages')} class="wide" element={dialog} onClose={onClose}>
      {pins?.length === 0 && (
        <Empty icon="pin" title={t('Nothing is pinned')} hint={t('“Pin” in the menu of a message keeps it here.')} />
      )}
      {pins?.map((message) => {
        const ids = `pinned-${message.id}`
        return (
          <div key={message.id} ref={passFocus} class="pinned">
            <MessageArticle message={message} workspace={workspace} isHead view="other" ids={ids} />
            <button
              type="button"
              class="link-button"
              aria-describedby={partsOf(ids)}
              onClick={({ detail }) => {
                // The second press of a double click would unpin the next message.
                if (detail < 2) void unpin(message)
              }}
            >
              {t('Unpin')}
            </button>
          </div>
        )
      })}
      <p role="status" class="visually-hidden">
        {note.value}
      </p>
    </Dialog>
  )
}
