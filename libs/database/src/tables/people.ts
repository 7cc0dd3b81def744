/** People, groups, sessions, credentials, limits, settings and the audit log. */
import type { Language, Role, TokenScope } from '@parley/contract'
import type { ColumnType, Generated } from 'kysely'
import type { Moment } from './columns.ts'

/** A source of people and groups outside of Parley. */
export type DirectoryKind = 'scim' | 'sso'

export interface Users {
  id: string
  userName: string
  /** The name in NFKC and lower case. It is unique. */
  userNameKey: string
  /** See `nameSkeleton`. Null when the previous version stored the name. */
  userNameSkeleton: ColumnType<string | null, string | null | undefined, string | null>
  /** Lower-case. */
  email: string
  isAdmin: Generated<boolean>
  /** Whether they are a guest, unless they are an admin. */
  isGuest: Generated<boolean>
  /** Computed from `isAdmin` and `isGuest`. */
  role: ColumnType<Role, never, never>
  /** When a guest is deactivated; null for everybody else. */
  guestExpiresAt: Moment | null
  passwordHash: string | null
  /** Whether they registered by themselves and have not proven yet that the address is theirs. */
  emailUnproven: Generated<boolean>
  /** Whether they have joined the channels that new people join. False when the previous version created them. */
  autoJoined: Generated<boolean>
  createdAt: Moment
  removedAt: Moment | null
  /** Null while they are active. */
  deactivatedAt: Moment | null
  isBot: Generated<boolean>
  /** The full name, beside the name that mentions use. */
  displayName: string | null
  /** Their job in the organisation. */
  title: string | null
  /** The directory that provides display name and title; null when they set these themselves. */
  managedBy: DirectoryKind | null
  /** The avatar that is shown; null without one. */
  avatarVersion: string | null
  /** Since when they have had a second factor without interruption; null without one. */
  secondFactorSince: Moment | null
  /** Grows each time that all their known devices are forgotten. */
  deviceGeneration: Generated<number>
  /** The id of the person in a directory. */
  externalId: string | null
  /** The `userName` in a directory, where it is not an e-mail address. */
  scimUserName: string | null
  /** When a directory deleted them; null while directories see them. */
  scimDeletedAt: Moment | null
  /** When they last changed for SCIM. Null: not since they were created. */
  changedAt: ColumnType<Moment | null, undefined, never>
  /** The text of their custom status; null without a status, and empty when the status is only an emoji. */
  statusText: string | null
  statusEmoji: string | null
  /** When the custom status is removed; null when it stays. */
  statusExpiresAt: Moment | null
  /** The language of the mails to them. Null while it is not known. */
  language: Language | null
  /** Whether they have chosen this language themselves. A directory does not change it then. */
  languageChosen: Generated<boolean>
  /** The `preferredLanguage` of a directory, as it sent it by SCIM. */
  preferredLanguage: string | null
  /** The parts of their name, as a directory sent them by SCIM. Parley shows the `displayName`. */
  givenName: string | null
  familyName: string | null
  /** Whether a group of `scim.adminGroups` made them an admin. */
  scimMadeAdmin: Generated<boolean>
}

/** What a person has set for their notifications. Without a row everything is as by default. */
export interface NotificationSettings {
  userId: string
  /** Whether they get mails about missed messages. Default: true. */
  mailsMissedMessages: boolean
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
  /** The name that mentions use. No person and no other group has it. */
  handle: string
  /** Like `userNameKey` and `userNameSkeleton` of people. */
  handleKey: string
  handleSkeleton: string
  name: string
  source: 'local' | DirectoryKind
  /** The id of the group in a directory. */
  externalId: string | null
  createdAt: Moment
  /** When its name or its members last changed. Null: not since it was created. */
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
  /** SHA-256 of an API token, which is stored as a session without a refresh token. Null for the session of a sign-in. */
  tokenHash: Buffer | null
  tokenName: string | null
  scopes: TokenScope[] | null
  /** Whether the session may only set up a second factor, because the configuration requires one. */
  mustEnrol: Generated<boolean>
  /** Whether a provider signed them in. Parley then asks for no second factor. */
  viaProvider: Generated<boolean>
  /** When the session ends however often it is refreshed, as the provider said at the sign-in. Null when it said nothing. */
  endsBy: Moment | null
}

export interface TotpSecrets {
  userId: string
  /** In base32, encrypted for this person with a key of the configuration. */
  sealedSecret: string
  createdAt: Moment
  /** Null until the person has entered a code. */
  confirmedAt: Moment | null
  /** The time step of the last code that was used; earlier ones are refused. */
  lastStep: Generated<number>
}

export interface RecoveryCodes {
  userId: string
  /** SHA-256 of the code. The row is deleted when the code is used. */
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
  /** The authenticator's counter of signatures; 0 when it does not count. */
  counter: number
  transports: string[]
  createdAt: Moment
  lastUsedAt: Moment | null
}

/** A sign-in that waits for its second factor. */
export interface MfaAttempts {
  /** SHA-256 of the `mfaToken`. */
  tokenHash: Buffer
  userId: string
  /** The method of the first factor. */
  method: string
  /** Lifetime of the first access token. */
  seconds: number
  wrongAnswers: Generated<number>
  expiresAt: Moment
}

export type ChallengePurpose = 'registration' | 'authentication'

/** Challenges that a passkey was asked to sign. */
export interface WebauthnChallenges {
  /** SHA-256 of the challenge. */
  challengeHash: Buffer
  purpose: ChallengePurpose
  /** The person whose passkey is expected; null when anybody may answer. */
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

/** Which account a provider of an organisation knows by which subject. Stored at the first sign-in through the provider. */
export interface Identities {
  protocol: 'openid' | 'saml'
  /** The issuer of OpenID Connect, or the entity id of SAML. */
  issuer: string
  /** `sub` of OpenID Connect, or the `NameID` of SAML. */
  subject: string
  userId: string
  /** Whether a role at the provider made them an admin. The loss of that role ends this. */
  madeAdmin: Generated<boolean>
  createdAt: Moment
}

/** The provider's own data of a session that began there. */
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

/** Tokens that are accepted only once: logout tokens, and assertions of SAML. */
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
  /** The kind of counted attempts, such as wrong passwords of an account or of a network, or mails. */
  kind: string
  subject: string
  /** The attempts that still count, oldest first, up to the limit. */
  attemptedAt: Moment[]
  lastAttemptAt: Moment
  /** The email address of the account; null when the limit is not for an account. */
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
