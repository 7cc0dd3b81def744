import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** Encrypts texts that must not be in the database as plain text. The keys are derived from the secrets that sign tokens. */
export interface Seals {
  /**
   * Encrypts a text, as base64. It can be decrypted only with the same `context`, so a sealed text cannot be used in
   * another place.
   */
  seal(text: string, context?: string): string
  /**
   * Decrypts a text. Undefined when it was changed, sealed for another context, or sealed with a secret that is no
   * longer configured.
   */
  open(sealed: string, context?: string): string | undefined
  /**
   * Keyed digests of a text (HMAC-SHA-256), each as 64 hexadecimal digits: one for each secret, that of the first secret
   * first. Store the first one, and compare a stored one with all of them, so that a secret can be replaced.
   */
  fingerprints(text: string): [string, ...string[]]
}

/** The first secret encrypts, and texts of all of them can be decrypted, so that a secret can be replaced. */
export function createSeals(secrets: readonly string[]): Seals {
  const sealing = secrets.map((secret) => derive(secret, 'parley: sealed answers'))
  const fingerprinting = secrets.map((secret) => derive(secret, 'parley: fingerprints of requests'))
  return {
    seal(text, context = '') {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, sealing[0]!, iv, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(context))
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64')
    },
    open(sealed, context = '') {
      const bytes = Buffer.from(sealed, 'base64')
      if (bytes.length < ivBytes + tagBytes) return undefined
      for (const key of sealing) {
        const text = openWith(key, bytes, context)
        if (text !== undefined) return text
      }
      return undefined
    },
    fingerprints: (text) =>
      fingerprinting.map((key) => createHmac('sha256', key).update(text).digest('hex')) as [string, ...string[]],
  }
}

const derive = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))

function openWith(key: Buffer, bytes: Buffer, context: string): string | undefined {
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString()
  } catch {
    // The text was sealed with another secret, or for another context.
    return undefined
  }
}
