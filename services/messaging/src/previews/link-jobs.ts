import { recordJob, type Transaction } from '@parley/database'

/** Whether a content may have links. Every message that is sent is tested, so this only searches for one text. */
export const mayHaveLinks = (content: string): boolean => content.includes('://')

/** Records a job for the previews of an edited message, if it may have links. */
export async function recordPreviews(trx: Transaction, messageId: string, content: string): Promise<void> {
  if (mayHaveLinks(content)) await recordJob(trx, 'make-previews', { messageId })
}
