import { createHash, createPublicKey, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

export interface KeyOptions {
  /** The first one signs, and all of them verify, so that a secret can be replaced while tokens are in use. */
  secrets: readonly string[]
  /**
   * Private keys, Ed25519 or P-256: the first one signs. With any of these or of `verifyingKeys`, the secrets are not
   * used for access tokens.
   */
  signingKeys?: readonly KeyObject[]
  /** Public keys that verify beside those of `signingKeys`. */
  verifyingKeys?: readonly KeyObject[]
}

interface AccessKey {
  /** The `kid` of the tokens that it signs. */
  id: string
  /** The only algorithm that this key is used for, whatever a token's header says. */
  algorithm: 'HS256' | 'EdDSA' | 'ES256'
  /** Absent where tokens are only verified. */
  sign?: KeyObject
  verify: KeyObject
}

/**
 * The keys of access tokens. The signing key comes first. A set has either secrets or key pairs: with key pairs, a
 * secret that every service knows must not sign or verify access tokens.
 */
export function accessKeys({ secrets, signingKeys = [], verifyingKeys = [] }: KeyOptions): AccessKey[] {
  if (signingKeys.length + verifyingKeys.length === 0) {
    return secrets.map((secret) => {
      const key = createSecretKey(secret, 'utf8')
      return { id: digest(`parley key id\0${secret}`), algorithm: 'HS256', sign: key, verify: key }
    })
  }
  const keys = new Map<string, AccessKey>()
  for (const sign of signingKeys) {
    const verify = createPublicKey(sign)
    keys.set(idOf(verify), { id: idOf(verify), algorithm: algorithmOf(verify), sign, verify })
  }
  for (const verify of verifyingKeys) {
    const id = idOf(verify)
    if (!keys.has(id)) keys.set(id, { id, algorithm: algorithmOf(verify), verify })
  }
  return [...keys.values()]
}

/**
 * The secrets of refresh tokens. With key pairs they are derived from the private keys, so that only the service that
 * has these can issue refresh tokens. A process that has only public keys has no secrets of refresh tokens.
 */
export function refreshSecrets({ secrets, signingKeys = [], verifyingKeys = [] }: KeyOptions): string[] {
  if (signingKeys.length + verifyingKeys.length === 0) return [...secrets]
  return signingKeys.map((key) => {
    const bytes = key.export({ format: 'der', type: 'pkcs8' })
    return Buffer.from(hkdfSync('sha256', bytes, '', 'parley: refresh tokens', 32)).toString('base64url')
  })
}

const algorithmOf = (key: KeyObject) => (key.asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'ES256')

const idOf = (key: KeyObject) => digest(key.export({ format: 'der', type: 'spki' }))

/** Identifies a key without revealing it. */
const digest = (content: string | Buffer) => createHash('sha256').update(content).digest('base64url').slice(0, 8)
