import { createHash, randomBytes } from 'node:crypto'
import type { Transaction } from '@parley/database'

const count = 10
/** Crockford's base 32: it has no i, l, o and u, which people misread. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const length = 16

/** Replaces all codes of a person by ten new ones of 80 random bits, and returns them. Only their digests are stored. */
export async function replaceRecoveryCodes(trx: Transaction, userId: string): Promise<string[]> {
  const codes = Array.from({ length: count }, newCode)
  await trx.deleteFrom('recoveryCodes').where('userId', '=', userId).execute()
  await trx
    .insertInto('recoveryCodes')
    .values(codes.map((code) => ({ userId, codeHash: digest(userId, code) })))
    .execute()
  return codes
}

/** Consumes a code. Returns false when the person has no such code. */
export async function useRecoveryCode(trx: Transaction, userId: string, code: string): Promise<boolean> {
  const used = await trx
    .deleteFrom('recoveryCodes')
    .where('userId', '=', userId)
    .where('codeHash', '=', digest(userId, code))
    .returning('userId')
    .executeTakeFirst()
  return used !== undefined
}

/** `xxxx-xxxx-xxxx-xxxx` */
const newCode = () =>
  [...randomBytes(length)]
    // 256 is a multiple of 32, so every character is equally likely.
    .map((byte) => alphabet[byte % alphabet.length])
    .join('')
    .replaceAll(/(.{4})(?=.)/g, '$1-')

/** The code without spaces and dashes, in lower case, with misread characters corrected. */
const normalised = (code: string) =>
  code
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1')

const digest = (userId: string, code: string) =>
  createHash('sha256')
    .update(`parley recovery code\0${userId}\0${normalised(code)}`)
    .digest()
