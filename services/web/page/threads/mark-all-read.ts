import type { Workspace } from '../app/workspace.ts'

/** The number of threads that are listed, and then marked one after the other. */
const pageSize = 25

/** Marks all followed threads as read that are unread now. @throws RequestFailed */
export async function markAllRead({ client, ended }: Workspace): Promise<void> {
  let before: string | undefined
  do {
    const query = { unread: 'true', limit: pageSize, ...(before !== undefined && { before }) } as const
    const { threads, hasMore } = await client.request('GET /threads', { query })
    for (const { message, lastSeq } of threads) {
      if (ended.aborted) return
      const input = { params: { messageId: message.id }, body: { seq: lastSeq } }
      await client.request('PUT /messages/:messageId/thread/read', input)
    }
    before = hasMore ? threads.at(-1)?.message.id : undefined
  } while (before !== undefined)
}
