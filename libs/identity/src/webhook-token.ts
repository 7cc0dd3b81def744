import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

export interface NewWebhookToken {
  /** 32 random bytes in base64url: shown once, stored nowhere. */
  token: string
  /** SHA-256 of the token. */
  tokenHash: Buffer
}

/** A token for one webhook. It is no access token: it opens nothing else. */
export function createWebhookToken(): NewWebhookToken {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: digest(token) }
}

/** Whether this is the token of the webhook that has this digest. */
export const isWebhookToken = (token: string, tokenHash: Buffer): boolean => timingSafeEqual(digest(token), tokenHash)

const digest = (token: string) => hash('sha256', token, 'buffer')
