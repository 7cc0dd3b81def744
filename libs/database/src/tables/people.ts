/** People, their sessions and credentials, and what the server records about them. */
import type { Role, TokenScope } from '@parley/contract'
import type { ColumnType, Generated } from 'kysely'
import type { Moment } from './columns.ts'

/** A source of people and groups outside of Parley. */
export type DirectoryKind = 'scim' | 'sso'

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
  /** Whether they are a guest while they are no admin. */
  isGuest: Generated<boolean>
  /** Follows from the two. */
  role: ColumnType<Role, never, never>
  /** When a guest is deactivated; null for everybody else. */
  guestExpiresAt: Moment | null
  passwordHash: string | null
  /** They registered by themselves, and have not proven yet that the address is theirs. */
  emailUnproven: Generated<boolean>
  /** Whether they have joined the channels that new people join. False when the version before created them. */
  autoJoined: Generated<boolean>
  createdAt: Moment
  removedAt: Moment | null
  /** Null while they are active. */
  deactivatedAt: Moment | null
  isBot: Generated<boolean>
  /** The full name beside the name that is mentioned. */
  displayName: string | null
  /** What they do in the organisation. */
  title: string | null
  /** The directory that provides display name and title; null when they set these themselves. */
  managedBy: DirectoryKind | null
  /** The avatar that is shown; null without one. */
  avatarVersion: string | null
  /** Since when they have a second factor without interruption; null without one. */
  secondFactorSince: Moment | null
  /** Counts how often all their devices became unknown. */
  deviceGeneration: Generated<number>
  /** What a directory calls them, beside the name that it gave them. */
  externalId: string | null
  /** The `userName` of a directory where it is no address. */
  scimUserName: string | null
  /** When a directory deleted them; null while directories see them. */
  scimDeletedAt: Moment | null
  /** When they last changed for SCIM; null: never since they were created. */
  changedAt: ColumnType<Moment | null, undefined, never>
  /** A group of `scim.adminGroups` made them an admin. */
  scimMadeAdmin: Generated<boolean>
}

/** A directory that provisions people by SCIM. */
export interface ScimClients {
  id: string
  name: string
  /** SHA-256 */
  tokenHash: Buffer
  createdBy: string
  createdAt: Moment
  lastUsedAt: Moment | null
  deletedAt: Moment | null
}

/** People who can be mentioned together. */
export interface Groups {
  id: string
  /** What mentions use: no person and no other group has it. */
  handle: string
  /** As `userNameKey` and `userNameSkeleton` of people. */
  handleKey: string
  handleSkeleton: string
  name: string
  source: 'local' | DirectoryKind
  /** What a directory calls it, beside its name. */
  externalId: string | null
  createdAt: Moment
  /** When its name or its members last changed; null: never since it was created. */
  changedAt: Moment | null
  deletedAt: Moment | null
}

export interface GroupMembers {
  groupId: string
  userId: string
  addedAt: Moment
}

/** The groups whose people are members of a channel. */
export interface ChannelGroups {
  channelId: string
  groupId: string
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
  /** SHA-256 of an API token, which is a session without a refresh token; null for a session of somebody who has signed in. */
  tokenHash: Buffer | null
  tokenName: string | null
  scopes: TokenScope[] | null
  /** It may do nothing but set up a second factor, which the configuration requires. */
  mustEnrol: Generated<boolean>
  /** A provider signed them in, so second factors are its concern. */
  viaProvider: Generated<boolean>
}

export interface TotpSecrets {
  userId: string
  /** In base32, encrypted with a key of the configuration and for this person. */
  sealedSecret: string
  createdAt: Moment
  /** Null until the person has shown a code. */
  confirmedAt: Moment | null
  /** The time step of the last code that was used; earlier ones are refused. */
  lastStep: Generated<Moment>
}

export interface RecoveryCodes {
  userId: string
  /** SHA-256 of the code. The row goes when the code is used. */
  codeHash: Buffer
}

export interface Passkeys {
  id: string
  userId: string
  name: string
  /** As base64url. */
  credentialId: string
  /** As COSE. */
  publicKey: Buffer
  /** Signatures that the authenticator has counted; 0 when it does not count. */
  counter: Moment
  transports: string[]
  createdAt: Moment
  lastUsedAt: Moment | null
}

/** A sign-in that waits for its second factor. */
export interface MfaAttempts {
  /** SHA-256 of the `mfaToken`. */
  tokenHash: Buffer
  userId: string
  /** How the person showed their first factor. */
  method: string
  /** Lifetime of the first access token. */
  seconds: number
  wrongAnswers: Generated<number>
  expiresAt: Moment
}

export type ChallengePurpose = 'registration' | 'authentication'

/** What a passkey was asked to sign. */
export interface WebauthnChallenges {
  /** SHA-256 of the challenge. */
  challengeHash: Buffer
  purpose: ChallengePurpose
  /** Whose passkey is expected; null when anybody may answer. */
  userId: string | null
  expiresAt: Moment
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

/** Whom a provider of an organisation knows by which name. Bound at their first sign-in through it. */
export interface Identities {
  protocol: 'openid' | 'saml'
  /** Of OpenID Connect the issuer, of SAML the entity id. */
  issuer: string
  /** Of OpenID Connect `sub`, of SAML the `NameID`. */
  subject: string
  userId: string
  /** A role at the provider made them an admin, so the loss of that role ends it. */
  madeAdmin: Generated<boolean>
  createdAt: Moment
}

/** What a provider calls a session that began there. */
export interface ProviderSessions {
  sessionId: string
  providerId: string
  issuer: string
  subject: string
  /** The provider's id of its own session; null when it named none. */
  sid: string | null
  /** Sealed, for the logout at the provider; null when it is too long. */
  idToken: string | null
}

/** What counts once: logout tokens, and assertions of SAML. */
export interface UsedTokens {
  /** SHA-256 of issuer and id. */
  digest: Buffer
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
