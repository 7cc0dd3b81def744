import { createHmac, timingSafeEqual } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import { base64urlOf32Bytes } from './base64url.ts'

export interface RefreshClaims {
  sessionId: string
  /** Counts the rotations of the session's refresh token, from 0. */
  generation: number
}

/**
 * Refresh tokens are derived, not stored: session id, generation and a MAC over both. The session row keeps the current
 * generation, so the database holds nothing worth stealing and a lost reply can be answered with the same successor.
 */
export function createRefreshTokens({ secrets }: { secrets: readonly string[] }) {
  const issueRefresh = (sessionId: string, generation: number) =>
    `${sessionId}.${generation}.${mac(secrets[0]!, sessionId, generation).toString('base64url')}`

  /** @throws ApiError 401 for anything that is not a refresh token of ours; whether it is current is the session's affair. */
  function readRefresh(token: string): RefreshClaims {
    const [, sessionId, digits, signature] = form.exec(token) ?? []
    if (!sessionId || !digits || !signature) throw unauthorized('The refresh token is not valid')
    const generation = Number(digits)
    const given = Buffer.from(signature, 'base64url')
    const good = secrets.some((secret) => {
      const expected = mac(secret, sessionId, generation)
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
    if (!good) throw unauthorized('The refresh token is not valid')
    return { sessionId, generation }
  }

  return { issueRefresh, readRefresh }
}

const form = new RegExp(`^([0-9a-f-]{36})\\.(0|[1-9]\\d{0,8})\\.(${base64urlOf32Bytes})$`)

const mac = (secret: string, sessionId: string, generation: number) =>
  createHmac('sha256', secret).update(`parley refresh\0${sessionId}\0${generation}`).digest()
