import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { MessageArticle } from '../messages/message.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'

export function PinnedMessages({
  workspace,
  channelId,
  onClose,
}: {
  workspace: Workspace
  channelId: string
  onClose: () => void
}) {
  useEffect(() => {
    void workspace.openPins(channelId)
  }, [channelId])
  const pins = workspace.pins(channelId)
  return (
    <Dialog name={t('Pinned messages')} class="wide" onClose={onClose}>
      {pins?.length === 0 && <p>{t('Nothing is pinned')}</p>}
      {pins?.map((message) => (
        <MessageArticle key={message.id} message={message} workspace={workspace} isHead place="search" />
      ))}
    </Dialog>
  )
}
