import type { Transaction, UserRow } from '@parley/database'
import { languageIn } from '@parley/service'

/**
 * Sets the language of the mails to a locked person to the one that their provider names. The language that they have
 * chosen themselves stays, and so does the one that a directory has sent by SCIM.
 */
export async function setSignInLanguage(trx: Transaction, user: UserRow, named: string | undefined): Promise<UserRow> {
  const language = languageIn(named)
  if (language === undefined || language === user.language) return user
  if (user.languageChosen || languageIn(user.preferredLanguage) !== undefined) return user
  await trx.updateTable('users').set({ language }).where('id', '=', user.id).execute()
  return { ...user, language }
}
