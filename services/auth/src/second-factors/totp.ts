import type { Reader, TotpSecrets, Transaction } from '@parley/database'
import type { Seals } from '@parley/identity'
import type { Selectable } from 'kysely'
import { Secret, TOTP } from 'otpauth'

type TotpRow = Selectable<TotpSecrets>

/** The variant of RFC 6238 that every authenticator app supports: SHA-1, 6 digits, 30 s. */
const periodSeconds = 30
const form = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const
const sixDigits = /^[0-9]{6}$/
/** RFC 4226, 4: a secret has at least 128 bits, 160 are recommended. */
const secretBytes = 20

/** Makes a new secret, and the address that apps read from a QR code. */
export function newTotp({ issuer, account }: { issuer: string; account: string }) {
  // An app shows `issuer:account`, so a colon in the issuer would be read as the end of it.
  const totp = new TOTP({
    ...form,
    issuer: issuer.replaceAll(':', ' '),
    label: account,
    secret: new Secret({ size: secretBytes }),
  })
  return { secret: totp.secret.base32, otpauthUrl: totp.toString() }
}

/** Stores a secret that the person has not confirmed yet. It replaces an earlier one. */
export async function putTotp(
  trx: Transaction,
  seals: Seals,
  { userId, secret, now }: { userId: string; secret: string; now: number },
): Promise<void> {
  const row = { sealedSecret: seals.seal(secret, contextOf(userId)), createdAt: now, confirmedAt: null, lastStep: 0 }
  await trx
    .insertInto('totpSecrets')
    .values({ userId, ...row })
    .onConflict((conflict) => conflict.column('userId').doUpdateSet(row))
    .execute()
}

export const findTotp = (db: Reader, userId: string): Promise<TotpRow | undefined> =>
  db.selectFrom('totpSecrets').selectAll().where('userId', '=', userId).executeTakeFirst()

export async function deleteTotp(trx: Transaction, userId: string): Promise<void> {
  await trx.deleteFrom('totpSecrets').where('userId', '=', userId).execute()
}

/**
 * Uses a code: true when it belongs to the current step, the one before or the one after, and to a later step than every used code. From
 * then on, codes of this step and of earlier ones are refused. Call it under the lock of its person.
 */
export async function useTotpCode(
  trx: Transaction,
  seals: Seals,
  row: TotpRow,
  { code, now }: { code: string; now: number },
): Promise<boolean> {
  const token = code.replaceAll(/\s/g, '')
  // The library throws for characters of several bytes, such as full-width digits.
  if (!sixDigits.test(token)) return false
  const secret = seals.open(row.sealedSecret, contextOf(row.userId))
  if (secret === undefined) return false
  const delta = TOTP.validate({
    ...form,
    token,
    secret: Secret.fromBase32(secret),
    timestamp: now,
    window: 1,
  })
  if (delta === null) return false
  const step = Math.floor(now / (periodSeconds * 1000)) + delta
  if (step <= row.lastStep) return false
  await trx
    .updateTable('totpSecrets')
    // The secret is encrypted again, so that it moves to a new first secret of the configuration over time.
    .set({
      lastStep: step,
      confirmedAt: row.confirmedAt ?? now,
      sealedSecret: seals.seal(secret, contextOf(row.userId)),
    })
    .where('userId', '=', row.userId)
    .execute()
  return true
}

/** Binds an encrypted secret to its person: it cannot be decrypted for another one. */
const contextOf = (userId: string) => `totp ${userId}`
