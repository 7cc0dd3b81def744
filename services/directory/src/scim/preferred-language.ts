import { audit, type Transaction, type UserRow } from '@parley/database'
import { languageIn } from '@parley/service'
import type { ScimContext } from './scim-clients.ts'

/**
 * Stores the language that a directory has sent for a locked person, as it was sent. Mails to them are in this
 * language, unless they have chosen one themselves. A language in which there are no mails has no effect.
 */
export async function changePreferredLanguage(
  trx: Transaction,
  { id, preferredLanguage: from, language, languageChosen }: UserRow,
  to: string | null,
  { actorId, ip }: ScimContext,
): Promise<void> {
  // Without a new one, the language is not known any more if it came from the directory.
  const next = languageIn(to) ?? (languageIn(from) === undefined ? language : null)
  await trx
    .updateTable('users')
    .set({ preferredLanguage: to, language: languageChosen ? language : next })
    .where('id', '=', id)
    .execute()
  const metadata = { from: { preferredLanguage: from }, to: { preferredLanguage: to } }
  await audit(trx, { action: 'user.profile.update', actorId, targetType: 'user', targetId: id, metadata, ip })
}
