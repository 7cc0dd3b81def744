import { type MessageRow, recordJob, type Transaction } from '@parley/database'

/** Whether a content may have links. Every message that is sent is tested, so this only searches for one text. */
export const mayHaveLinks = (content: string): boolean => content.includes('://')

/** Records a job for new previews of an edited message, if it has or may have previews. */
export async function recordPreviews(
  trx: Transaction,
  { id, previews }: Pick<MessageRow, 'id' | 'previews'>,
  content: string,
): Promise<void> {
  if (mayHaveLinks(content) || (previews ?? []).length > 0) await recordJob(trx, 'make-previews', { messageId: id })
}
