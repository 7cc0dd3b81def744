import { createHmac, hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { accessKeys, type KeyOptions, refreshSecrets } from './access-keys.ts'
import { readApiToken } from './api-tokens.ts'

/** The claims of an access token. They grant no right: rights are looked up with every request. */
export interface AccessClaims {
  userId: string
  sessionId: string
  /** Epoch milliseconds. */
  expiresAt: number
  /** The hash of an API token. It must equal the hash of its session. */
  tokenHash?: Buffer
  /** Whether the claims were verified. The claims of an API token are not, until a service has compared the hash. */
  isGenuine: boolean
}

export interface RefreshClaims {
  sessionId: string
  /** Counts the rotations of the session's refresh token, from 0. */
  generation: number
}

interface TokenOptions extends KeyOptions {
  /** The `iss` and `aud` claims. */
  issuer: string
  /** Epoch milliseconds. */
  clock: () => number
}

/** Issues and reads the tokens of a session. */
export function createTokens(options: TokenOptions) {
  const { issueAccess, verifyAccess } = createAccessTokens(options)
  const apiTokens = createApiTokenClaims()
  return {
    issueAccess,
    /**
     * The claims of a Bearer token: an access token, whose signature is checked, or an API token, whose hash `findCaller` compares.
     * @throws ApiError 401 unless it is a valid, unexpired access token of this server, or has the form of an API
     * token.
     */
    verifyAccess: async (token: string): Promise<AccessClaims> => apiTokens.read(token) ?? verifyAccess(token),
    /** Remembers that the hash of an API token matched. From then on this process counts its requests for its user. */
    noteGenuine: apiTokens.noteGenuine,
    ...createRefreshTokens(options),
  }
}
export type Tokens = ReturnType<typeof createTokens>

/**
 * The pattern of 32 bytes in base64url. The last of the 43 characters has only four significant bits, so a decoder
 * reads several characters as the same value. The pattern allows only the one that an encoder writes. A token therefore
 * has one spelling, and code that counts or remembers tokens by their text cannot be deceived.
 */
export const base64urlOf32Bytes = '[\\w-]{42}[AEIMQUYcgkosw048]'

/** The pattern of 64 bytes in base64url: the signature of a key pair. */
const base64urlOf64Bytes = '[\\w-]{85}[AQgw]'

const rememberedTokens = 20_000
/**
 * Header and payload are signed as text, so they have only one spelling. The pattern allows only one spelling of the
 * signature.
 */
const accessForm = new RegExp(`^[\\w-]+\\.[\\w-]+\\.(?:${base64urlOf32Bytes}|${base64urlOf64Bytes})$`)

/**
 * Signs and verifies access tokens (JWT). A key is used for one algorithm, whatever the token's header says. Valid
 * signatures are remembered until the token expires, so a busy client costs one verification for each token, not one
 * for each request. Whether the session is still live is never remembered.
 */
function createAccessTokens({ issuer, clock, ...keyOptions }: TokenOptions) {
  const keys = accessKeys(keyOptions)
  const signing = keys.find(({ sign }) => sign !== undefined)
  const verified = new LRUCache<string, AccessClaims>({ max: rememberedTokens })

  /** @param seconds lifetime of the token */
  async function issueAccess({ userId, sessionId, seconds }: { userId: string; sessionId: string; seconds: number }) {
    if (!signing?.sign) throw new Error('this process has no key to sign access tokens with')
    const issuedAt = Math.floor(clock() / 1000)
    return new SignJWT({ sid: sessionId })
      .setProtectedHeader({ alg: signing.algorithm, typ: 'JWT', kid: signing.id })
      .setSubject(userId)
      .setJti(randomUUID())
      .setIssuer(issuer)
      .setAudience(issuer)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + seconds)
      .sign(signing.sign)
  }

  /** @throws ApiError 401 unless it is a valid, unexpired access token of this server. */
  async function verifyAccess(token: string): Promise<AccessClaims> {
    const known = verified.get(token)
    if (known) {
      if (known.expiresAt > clock()) return known
      verified.delete(token)
      throw unauthorized('The access token has expired')
    }
    const claims = await verifySignature(token)
    verified.set(token, claims)
    return claims
  }

  async function verifySignature(token: string): Promise<AccessClaims> {
    if (!accessForm.test(token)) throw unauthorized('The access token is not valid')
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = keys.find(({ id }) => id === kid)
      if (!key) throw unauthorized('The access token is not valid')
      const { payload } = await jwtVerify(token, key.verify, {
        algorithms: [key.algorithm],
        issuer,
        audience: issuer,
        typ: 'JWT',
        currentDate: new Date(clock()),
        requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
      })
      return {
        userId: String(payload.sub),
        sessionId: String(payload.sid),
        expiresAt: payload.exp! * 1000,
        isGenuine: true,
      }
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

/** Reads API tokens. It remembers which of them are genuine, but only for limits: every request compares the hash again. */
function createApiTokenClaims() {
  const genuine = new LRUCache<string, true>({ max: rememberedTokens })
  const keyOf = (tokenHash: Buffer) => tokenHash.toString('base64')

  return {
    read(token: string): AccessClaims | undefined {
      const text = readApiToken(token)
      if (!text) return undefined
      const { tokenId: sessionId, userId, tokenHash } = text
      const isGenuine = genuine.has(keyOf(tokenHash))
      return { userId, sessionId, expiresAt: Number.MAX_SAFE_INTEGER, tokenHash, isGenuine }
    },
    noteGenuine(claims: AccessClaims): void {
      claims.isGenuine = true
      if (claims.tokenHash) genuine.set(keyOf(claims.tokenHash), true)
    },
  }
}

/**
 * Refresh tokens are derived, not stored: session id, generation and a MAC over both. The session row keeps the current
 * generation, so the database holds no secret. A repeated request gets the same next token as the lost response had.
 */
function createRefreshTokens(keyOptions: KeyOptions) {
  const secrets = refreshSecrets(keyOptions)
  const issueRefresh = (sessionId: string, generation: number) =>
    `${sessionId}.${generation}.${mac(secrets[0]!, sessionId, generation).toString('base64url')}`

  /** @throws ApiError 401 unless it is a refresh token of this server. `rotateRefresh` checks whether it is the current one. */
  function readRefresh(token: string): RefreshClaims {
    const [, sessionId, digits, signature] = refreshForm.exec(token) ?? []
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

const refreshForm = new RegExp(`^([0-9a-f-]{36})\\.(0|[1-9]\\d{0,8})\\.(${base64urlOf32Bytes})$`)

const mac = (secret: string, sessionId: string, generation: number) =>
  createHmac('sha256', secret).update(`parley refresh\0${sessionId}\0${generation}`).digest()

interface NewWebhookToken {
  /** 32 random bytes in base64url. It is shown once and not stored. */
  token: string
  /** SHA-256 of the token. */
  tokenHash: Buffer
}

/** A token for one webhook. It is not an access token and is valid for nothing else. */
export function createWebhookToken(): NewWebhookToken {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: digest(token) }
}

/** Whether this is the digest of the token. */
export const isWebhookToken = (token: string, tokenHash: Buffer): boolean => timingSafeEqual(digest(token), tokenHash)

const digest = (token: string) => hash('sha256', token, 'buffer')
