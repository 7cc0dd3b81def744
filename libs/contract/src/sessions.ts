import { type Static, Type } from 'typebox'
import { Id, NameText, Nullable, Timestamp } from './fields.ts'
import { limits } from './limits.ts'

export const Session = Type.Object({
  id: Id,
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
  ip: Nullable(Type.String()),
  userAgent: Nullable(Type.String()),
  isCurrent: Type.Boolean(),
})
export type Session = Static<typeof Session>

export const TokenScope = Type.Enum(['read', 'write', 'admin'])
export type TokenScope = Static<typeof TokenScope>

export const ApiToken = Type.Object({
  id: Id,
  name: Type.String(),
  scopes: Type.Array(TokenScope, { description: '`write` includes `read`, `admin` includes both' }),
  createdAt: Timestamp,
  lastUsedAt: Nullable({
    ...Timestamp,
    description: 'In epoch milliseconds, to the minute; null before its first use',
  }),
  expiresAt: Nullable({ ...Timestamp, description: 'In epoch milliseconds; null: the token does not expire' }),
})
export type ApiToken = Static<typeof ApiToken>

/** The body of a request for an API token. */
export const NewApiToken = Type.Object({
  name: NameText(limits.tokenName, { description: 'What the token is for' }),
  scopes: Type.Array(TokenScope, { minItems: 1, maxItems: 10 }),
  expiresAt: Type.Optional(
    Type.Integer({
      maximum: limits.expiresAt,
      description: 'In epoch milliseconds. Without it the token does not expire',
    }),
  ),
})
export type NewApiToken = Static<typeof NewApiToken>

export const Tokens = Type.Object({
  accessToken: Type.String(),
  refreshToken: Type.String(),
  exp: Type.Integer({ description: 'Lifetime of the access token in seconds' }),
  tokenType: Type.Literal('Bearer'),
})
export type Tokens = Static<typeof Tokens>

/**
 * The response to every sign-in and refresh. With `X-Parley-Session: cookie` the refresh token is in a cookie that no script can read, and
 * not in the body.
 */
export const TokenResponse = Type.Object({
  ...Tokens.properties,
  refreshToken: Type.Optional(
    Type.String({
      description: 'Absent with `X-Parley-Session: cookie`, because a cookie holds the refresh token then',
    }),
  ),
})
export type TokenResponse = Static<typeof TokenResponse>

/**
 * The response to the first step of a sign-in with a second factor. It has no tokens yet, but the facts that `POST
 * /auth/mfa` needs.
 */
export const MfaRequired = Type.Object({
  mfaRequired: Type.Literal(true),
  mfaToken: Type.String({ description: 'For `POST /auth/mfa`, within ten minutes' }),
  methods: Type.Array(Type.Enum(['totp', 'recovery', 'passkey']), {
    description: 'The second factors of the person: a code of their app, a recovery code, a passkey',
  }),
})
export type MfaRequired = Static<typeof MfaRequired>

/** The response to the first step of a sign-in. */
export const SignInResponse = Type.Union([TokenResponse, MfaRequired])
export type SignInResponse = Static<typeof SignInResponse>

/** Header of sign-in, refresh and logout for browsers: the refresh token travels in a cookie. */
export const SessionHeaders = Type.Object({
  'x-parley-session': Type.Optional(
    Type.Enum(['cookie'], {
      description:
        'With `cookie` the refresh token is set, read and removed as an HttpOnly cookie, and is never in a body',
    }),
  ),
})

/** A password that somebody chooses. */
export const NewPassword = Type.String({
  minLength: limits.shortestPassword,
  maxLength: limits.password,
  description: `At least ${limits.shortestPassword} characters`,
})

/** The password of the caller, which confirms a request. */
export const CurrentPassword = Type.String({ maxLength: limits.password })
