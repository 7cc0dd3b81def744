import { isUnread, markAsRead } from '../app/mark-as-read.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { attempt } from '../ui/problems.ts'

/** Asks before all channels, conversations and followed threads are marked as read. */
export function MarkAllRead({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const unread = unreadPlaces(workspace)
  if (unread.length === 0 && workspace.unreadThreads.value === 0)
    return (
      <Dialog name={t('Mark all as read')} onClose={onClose}>
        <p>{t('Nothing is unread.')}</p>
      </Dialog>
    )
  return (
    <Confirm
      name={t('Mark all as read')}
      question={t('All your channels, direct messages and threads are read then, on all your devices.')}
      confirmLabel={t('Mark as read')}
      look="primary"
      onConfirm={() => {
        for (const place of unreadPlaces(workspace)) markAsRead(workspace, place)
        void attempt(markThreads(workspace))
      }}
      onClose={onClose}
    />
  )
}

const unreadPlaces = (workspace: Workspace) =>
  workspace.placeIds().flatMap((id) => {
    const place = workspace.place(id)
    return place && isUnread(workspace, place) ? [place] : []
  })

async function markThreads({ client, unreadThreads }: Workspace) {
  if (unreadThreads.value === 0) return
  const { threads } = await client.request('GET /threads', { query: { limit: 1 } })
  // The person has not been told about later replies.
  const [newest] = threads
  if (newest) await client.request('PUT /threads/read', { body: { until: newest.lastReply.createdAt } })
}
