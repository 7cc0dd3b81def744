import { readStateOfPlace } from '../app/places.ts'
import { unreadCountOf } from '../app/unread-counts.ts'
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
        markPlaces(workspace)
        void attempt(markThreads(workspace))
      }}
      onClose={onClose}
    />
  )
}

/** The channels and conversations with unread messages. What is muted counts too, although the sidebar does not show it. */
const unreadPlaces = (workspace: Workspace) =>
  workspace.placeIds().flatMap((id) => {
    const place = workspace.place(id)
    return place && (readStateOfPlace(place).unreadCount > 0 || unreadCountOf(workspace, place) > 0) ? [place] : []
  })

function markPlaces(workspace: Workspace) {
  for (const place of unreadPlaces(workspace)) {
    const { id, readSeq, lastSeq, unreadCount } = readStateOfPlace(place)
    workspace.marks.take(id, { readSeq })
    if (unreadCount > 0) workspace.readSender.send(id, lastSeq)
  }
}

async function markThreads({ client, unreadThreads }: Workspace) {
  if (unreadThreads.value === 0) return
  const { threads } = await client.request('GET /threads', { query: { limit: 1 } })
  // The person has not been told about later replies.
  const [newest] = threads
  if (newest) await client.request('PUT /threads/read', { body: { until: newest.lastReply.createdAt } })
}
