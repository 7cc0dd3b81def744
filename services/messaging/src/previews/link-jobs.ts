import { type MessageRow, recordJob, type Transaction } from '@parley/database'

/** Whether a content is worth a look for links. It is asked of every message that is sent, so it only searches for a text. */
export const mayHaveLinks = (content: string): boolean => content.includes('://')

/** Records that the previews of an edited message must be made anew, if it has or may have any. */
export async function recordPreviews(
  trx: Transaction,
  { id, previews }: Pick<MessageRow, 'id' | 'previews'>,
  content: string,
): Promise<void> {
  if (mayHaveLinks(content) || (previews ?? []).length > 0) await recordJob(trx, 'make-previews', { messageId: id })
}
