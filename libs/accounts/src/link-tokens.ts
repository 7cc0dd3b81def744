import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { LinkPurpose } from '@parley/database'
import { base64urlOf32Bytes } from '@parley/identity'

/** What the token of a one-time link says, once its signature was found good. */
export interface LinkClaims {
  purpose: LinkPurpose
  email: string
  tokenHash: Buffer
}

/**
 * Tokens of one-time links: purpose, 128 random bits, and a MAC over both and the address. Whether a link still works is
 * the affair of its row, which has nothing but a digest; the MAC lets forged ones be refused without a look.
 * Of the secrets the first signs, all verify.
 */
export function createLinkTokens(secrets: readonly string[]) {
  function issue(purpose: LinkPurpose, email: string): { token: string; tokenHash: Buffer } {
    const id = randomBytes(16).toString('base64url')
    const token = `${purpose}.${id}.${mac(secrets[0]!, purpose, email, id).toString('base64url')}`
    return { token, tokenHash: digest(token) }
  }

  /** Undefined for anything but a token of ours for this address. */
  function read(token: string, email: string): LinkClaims | undefined {
    const [, purpose, id, signature] = form.exec(token) ?? []
    if (!purpose || !id || !signature) return undefined
    const given = Buffer.from(signature, 'base64url')
    const isOurs = secrets.some((secret) => timingSafeEqual(given, mac(secret, purpose, email, id)))
    return isOurs ? { purpose: purpose as LinkPurpose, email, tokenHash: digest(token) } : undefined
  }

  return { issue, read }
}

export type LinkTokens = ReturnType<typeof createLinkTokens>

// The last characters are those that 16 and 32 bytes end in: every token has one spelling only.
const form = new RegExp(`^(login|invite|reset)\\.([\\w-]{21}[AQgw])\\.(${base64urlOf32Bytes})$`)

const mac = (secret: string, purpose: string, email: string, id: string) =>
  createHmac('sha256', secret).update(`parley link\0${purpose}\0${email}\0${id}`).digest()

const digest = (token: string) => createHash('sha256').update(token).digest()
