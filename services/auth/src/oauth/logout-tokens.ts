import { type JWTPayload, jwtVerify } from 'jose'
import type { LoggedOut } from '../sessions/provider-sessions.queries.ts'
import { isObject } from '../single-sign-on/claims.ts'
import { type OpenidServer, signatureAlgorithms, toleratedSeconds } from './openid-server.ts'

/** The event that makes a token a logout token. */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** A logout token is valid for this time after it was issued. */
const longestAgeSeconds = 300

interface LogoutToken extends Omit<LoggedOut, 'providerId'> {
  /** The token's own id. Each id is accepted once. */
  id: string
  /** From this time on, the token is refused because of its age. */
  expiresAt: number
}

export type ReadLogoutToken = (token: string) => Promise<LogoutToken>

interface LogoutTokenOptions {
  clientId: string
  clock: () => number
  readServer: () => Promise<OpenidServer>
}

/**
 * Reads a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6) and checks it, but not whether it was used before.
 * @throws when it is refused, or when the provider's keys cannot be fetched.
 */
export const createLogoutTokenReader =
  ({ clientId, clock, readServer }: LogoutTokenOptions): ReadLogoutToken =>
  async (token) => {
    const { metadata, keys } = await readServer()
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer: metadata.issuer,
      audience: clientId,
      algorithms: signatureAlgorithms,
      requiredClaims: ['iat', 'jti'],
      maxTokenAge: longestAgeSeconds,
      clockTolerance: toleratedSeconds,
      currentDate: new Date(clock()),
    })
    const typ = protectedHeader.typ?.toLowerCase()
    const isOtherKind = typ !== undefined && typ !== 'logout+jwt' && typ !== 'jwt'
    const { sid, sub, jti, iat } = payload
    if (isOtherKind || !isLogout(payload) || !isNamed(jti) || !isOptional(sid) || !isOptional(sub))
      throw new InvalidLogoutToken()
    if (sid === undefined && sub === undefined) throw new InvalidLogoutToken()
    const expiresAt = (iat! + longestAgeSeconds + 2 * toleratedSeconds) * 1000
    return { issuer: metadata.issuer, sid, subject: sub, id: jti, expiresAt }
  }

export class InvalidLogoutToken extends Error {
  override readonly name = 'InvalidLogoutToken'
}

/** A logout token has the logout event and no `nonce`. An id token has a `nonce` and no such event, so it is never mistaken for one. */
const isLogout = ({ events, nonce }: JWTPayload) =>
  nonce === undefined && isObject(events) && isObject(events[logoutEvent])

const isNamed = (value: unknown): value is string => typeof value === 'string' && value !== '' && !value.includes('\0')
const isOptional = (value: unknown): value is string | undefined => value === undefined || isNamed(value)
