import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** Encrypts texts that the database must not hold in the clear. The keys are derived from the secrets that sign tokens. */
export interface Seals {
  /** The text, encrypted, as base64. */
  seal(text: string): string
  /** The text; undefined when it was changed, or sealed with a secret that is no longer configured. */
  open(sealed: string): string | undefined
  /** A keyed digest (HMAC-SHA-256 with the first secret) as 64 hexadecimal digits. */
  fingerprint(text: string): string
}

/** The first secret seals and all of them open, so that a secret can be replaced. */
export function createSeals(secrets: readonly string[]): Seals {
  const sealing = secrets.map((secret) => derive(secret, 'parley: sealed answers'))
  const fingerprinting = derive(secrets[0]!, 'parley: fingerprints of requests')
  return {
    seal(text) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, sealing[0]!, iv, { authTagLength: tagBytes })
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      if (bytes.length < ivBytes + tagBytes) return undefined
      for (const key of sealing) {
        const text = openWith(key, bytes)
        if (text !== undefined) return text
      }
      return undefined
    },
    fingerprint: (text) => createHmac('sha256', fingerprinting).update(text).digest('hex'),
  }
}

const derive = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))

function openWith(key: Buffer, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString()
  } catch {
    // It was sealed with another secret.
    return undefined
  }
}
