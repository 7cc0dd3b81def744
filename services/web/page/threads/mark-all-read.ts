import type { Client } from '@parley/client'

/** The number of threads that are listed, and then marked one after the other. */
const pageSize = 50

/** Marks all followed threads as read that are unread now. @throws RequestFailed */
export async function markAllRead(client: Client): Promise<void> {
  for (;;) {
    const { threads, hasMore } = await client.request('GET /threads', { query: { unread: 'true', limit: pageSize } })
    for (const { message, lastSeq } of threads) {
      const input = { params: { messageId: message.id }, body: { seq: lastSeq } }
      await client.request('PUT /messages/:messageId/thread/read', input)
    }
    if (!hasMore) return
  }
}
