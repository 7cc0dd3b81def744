import { type CustomStatus, invalid, limits } from '@parley/contract'
import { type CustomStatusFields, type Transaction, type UserFields, type UserRow, userFields } from '@parley/database'
import { readName } from './names.ts'
import { recordUserUpdate } from './user-updates.ts'
import { lockUser } from './users.ts'

/**
 * Sets or removes the custom status of a person, and records UPDATE_USER if it changed.
 * @param status the result of `readCustomStatus`; null removes the status.
 * @throws ApiError 401 when the person was removed.
 */
export async function setCustomStatus(trx: Transaction, userId: string, status: CustomStatus | null): Promise<UserRow> {
  const before = await lockUser(trx, userId)
  const after = fieldsOf(status)
  const isSame = statusFields.every((field) => before[field] === after[field])
  if (isSame) return before
  await storeStatus(trx, before, after)
  return { ...before, ...after }
}

/**
 * Removes the custom statuses that have expired, at most 100 at a time, and returns their number. People whose rows are
 * locked are left for the next call. Served by users_status_expiring.
 */
export async function removeExpiredStatuses(trx: Transaction, now: number): Promise<number> {
  const people = await trx
    .selectFrom('users')
    .select(userFields)
    .where('statusExpiresAt', '<=', now)
    .where('removedAt', 'is', null)
    .orderBy('statusExpiresAt')
    .limit(100)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  for (const person of people) await storeStatus(trx, person, fieldsOf(null))
  return people.length
}

/** A custom status in a request. Absent fields are empty. */
interface RequestedStatus {
  text?: string | undefined
  emoji?: string | null | undefined
  /** Epoch milliseconds. */
  expiresAt?: number | null | undefined
}

/**
 * Reads the custom status in a request, and returns it as it is stored.
 * @param now epoch milliseconds.
 * @throws ApiError 400 when text and emoji are missing, when one of them is refused, or when the status has expired already.
 */
export function readCustomStatus(
  { text = '', emoji = null, expiresAt = null }: RequestedStatus,
  now: number,
): CustomStatus {
  const readText = text.trim() === '' ? '' : readName(text, 'text', limits.statusText, 'NFC')
  if (readText === '' && emoji === null) throw invalid('text or emoji is missing')
  if (emoji !== null && !isEmoji(emoji)) throw invalid('emoji must be one emoji')
  if (expiresAt !== null && expiresAt <= now) throw invalid('expiresAt must be in the future')
  return { text: readText, emoji, expiresAt }
}

/**
 * Whether a text is exactly one emoji: a flag, a keycap, a skin tone, or up to four pictograms that are joined to one. The
 * list of emoji grows each year, so this only looks at the form of Unicode Technical Standard 51.
 */
export const isEmoji = (text: string): boolean => emojiForm.test(text)

const pictogram = String.raw`\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?`
const flag = String.raw`\p{Regional_Indicator}{2}|\u{1f3f4}[\u{e0030}-\u{e007a}]{3,6}\u{e007f}`
const keycap = String.raw`[#*0-9]\ufe0f?\u20e3`
const emojiForm = new RegExp(
  String.raw`^(?:${flag}|${keycap}|\p{Emoji_Modifier}|${pictogram}(?:\u200d${pictogram}){0,3})$`,
  'u',
)

const statusFields = ['statusText', 'statusEmoji', 'statusExpiresAt'] as const

const fieldsOf = (status: CustomStatus | null): CustomStatusFields => ({
  statusText: status?.text ?? null,
  statusEmoji: status?.emoji ?? null,
  statusExpiresAt: status?.expiresAt ?? null,
})

/** Stores the status of a live person whose row is locked, and records UPDATE_USER. */
async function storeStatus(trx: Transaction, person: UserFields, status: CustomStatusFields): Promise<void> {
  await trx.updateTable('users').set(status).where('id', '=', person.id).execute()
  await recordUserUpdate(trx, { ...person, ...status })
}
