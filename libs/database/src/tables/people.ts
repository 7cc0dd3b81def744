/** People, their sessions and credentials, and what the server records about them. */
import type { ColumnType, Generated } from 'kysely'
import type { Moment } from './columns.ts'

export interface Users {
  id: string
  userName: string
  /** NFKC and lower-case: what makes a name unique. */
  userNameKey: string
  /** See `nameSkeleton`. Null when the version before wrote the name. */
  userNameSkeleton: ColumnType<string | null, string | null | undefined, string | null>
  /** Lower-case. */
  email: string
  isAdmin: Generated<boolean>
  passwordHash: string | null
  /** They registered by themselves, and have not proven yet that the address is theirs. */
  emailUnproven: Generated<boolean>
  createdAt: Moment
  removedAt: Moment | null
  /** The avatar that is shown; null without one. */
  avatarVersion: string | null
}

/** A picture of a person. Its bytes are in the blob store under `avatarKeys(version)`. */
export interface Avatars {
  version: string
  userId: string
  createdAt: Moment
  /** Null until the worker has encoded it. */
  readyAt: Moment | null
}

export interface Sessions {
  id: string
  userId: string
  createdAt: Moment
  lastUsedAt: Moment
  expiresAt: Moment
  endedAt: Moment | null
  /** The generation of the current refresh token. Earlier ones were rotated. */
  refreshGeneration: Generated<number>
  rotatedAt: Moment | null
  ip: string | null
  userAgent: string | null
}

export interface OauthStates {
  /** SHA-256 of the `state` parameter that the provider passes back. */
  stateHash: Buffer
  /** SHA-256 of the cookie of the browser that began the sign-in. */
  browserHash: Buffer
  providerId: string
  ip: string
  /** PKCE. */
  codeVerifier: string
  expiresAt: Moment
}

export type LinkPurpose = 'login' | 'invite' | 'reset'

export interface OneTimeLinks {
  /** Lower-case, as in `users`. */
  email: string
  purpose: LinkPurpose
  /** SHA-256 of the token in the link. */
  tokenHash: Buffer
  /** Null when the address has no user yet. */
  userId: string | null
  expiresAt: Moment
}

export interface Attempts {
  /** What is counted, such as wrong passwords of an account or of a network address, or mails. */
  kind: string
  subject: string
  /** The attempts that still count, oldest first, up to the limit. */
  attemptedAt: Moment[]
  lastAttemptAt: Moment
  /** The email address of the account; null when it is about no account. */
  account: string | null
}

export interface ServerSettings {
  id: Generated<number>
  name: string
}

export interface AuditLog {
  id: string
  action: string
  actorId: string
  targetType: string
  targetId: string
  metadata: ColumnType<unknown, string | null, never>
  ip: string | null
  createdAt: Moment
}
