import { createHash, createSecretKey, randomUUID } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import { base64urlOf32Bytes } from './base64url.ts'

/** What an access token says. Never a right: those are looked up with every request. */
export interface AccessClaims {
  userId: string
  sessionId: string
  /** Epoch milliseconds. */
  expiresAt: number
}

export interface AccessTokenOptions {
  /** The first signs, all of them verify: that is how a secret is rotated. */
  secrets: readonly string[]
  /** The `iss` and `aud` claims. */
  issuer: string
  /** Epoch milliseconds. */
  clock: () => number
}

const algorithm = 'HS256'
const verifiedLimit = 20_000
/** Header and payload have one spelling because they are signed as text; of the signature itself the pattern allows one. */
const form = new RegExp(`^[\\w-]+\\.[\\w-]+\\.${base64urlOf32Bytes}$`)

/**
 * Signs and verifies access tokens (JWT, HS256). Signatures found good are remembered until they expire, so a busy
 * client costs one verification per token, not one per request; whether the session still stands is never remembered.
 */
export function createAccessTokens({ secrets, issuer, clock }: AccessTokenOptions) {
  const keys = secrets.map((secret) => ({ id: keyId(secret), key: createSecretKey(secret, 'utf8') }))
  const verified = new Map<string, AccessClaims>()

  /** `seconds` is the lifetime. */
  async function issueAccess({ userId, sessionId, seconds }: { userId: string; sessionId: string; seconds: number }) {
    const issuedAt = Math.floor(clock() / 1000)
    return new SignJWT({ sid: sessionId })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: keys[0]!.id })
      .setSubject(userId)
      .setJti(randomUUID())
      .setIssuer(issuer)
      .setAudience(issuer)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + seconds)
      .sign(keys[0]!.key)
  }

  /** @throws ApiError 401 for anything but a good, unexpired access token of ours. */
  async function verifyAccess(token: string): Promise<AccessClaims> {
    const known = verified.get(token)
    if (known) {
      if (known.expiresAt > clock()) return known
      verified.delete(token)
      throw unauthorized('The access token has expired')
    }
    const claims = await verifySignature(token)
    if (verified.size >= verifiedLimit) verified.delete(verified.keys().next().value!)
    verified.set(token, claims)
    return claims
  }

  async function verifySignature(token: string): Promise<AccessClaims> {
    if (!form.test(token)) throw unauthorized('The access token is not valid')
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = keys.find(({ id }) => id === kid)
      if (!key) throw unauthorized('The access token is not valid')
      const { payload } = await jwtVerify(token, key.key, {
        algorithms: [algorithm],
        issuer,
        audience: issuer,
        typ: 'JWT',
        currentDate: new Date(clock()),
        requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
      })
      return { userId: String(payload.sub), sessionId: String(payload.sid), expiresAt: payload.exp! * 1000 }
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw unauthorized('The access token has expired')
      if (error instanceof errors.JOSEError || error instanceof TypeError) {
        throw unauthorized('The access token is not valid')
      }
      throw error
    }
  }

  return { issueAccess, verifyAccess }
}

/** Names a secret without telling anything of it. */
const keyId = (secret: string) =>
  createHash('sha256').update(`parley key id\0${secret}`).digest('base64url').slice(0, 8)
