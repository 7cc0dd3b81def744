import type { Workspace } from '../app/workspace.ts'

/** The number of threads that are listed, and then marked one after the other. */
const pageSize = 50

/** Marks all followed threads as read that are unread now. @throws RequestFailed */
export async function markAllRead({ client, ended }: Workspace): Promise<void> {
  while (!ended.aborted) {
    const { threads, hasMore } = await client.request('GET /threads', { query: { unread: 'true', limit: pageSize } })
    for (const { message, lastSeq } of threads) {
      if (ended.aborted) return
      const input = { params: { messageId: message.id }, body: { seq: lastSeq } }
      await client.request('PUT /messages/:messageId/thread/read', input)
    }
    if (!hasMore) return
  }
}
