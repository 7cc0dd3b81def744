export {
  activateUser,
  deactivateExpiredGuests,
  deactivateUser,
} from './activation.ts'
export { createToken, deleteToken, listTokens, type NewApiToken } from './api-tokens.ts'
export { ensureApp, openSigningSecret, updateApp } from './apps.ts'
export { type AttemptLimit, countAttempt, findWait, tryAttempt } from './attempts.ts'
export { joinMissedChannels } from './auto-join.ts'
export { createBot, deleteBot, findBot, isBot, listBots, lockBot } from './bots.ts'
export { proveEmail, setPassword } from './credentials.ts'
export {
  isEmoji,
  readCustomStatus,
  removeExpiredStatuses,
  setCustomStatus,
} from './custom-status.ts'
export { asciiOf, domainOf, readEmail, readKnownEmail } from './emails.ts'
export { ensureFirstStart, initialUserFaults } from './first-start.ts'
export { countWrongGuess, type Guess, type GuessScope, refuseTooManyGuesses } from './guesses.ts'
export {
  bindIdentity,
  findUserByIdentity,
  type Identity,
  markMadeAdmin,
  setDirectoryProfile,
  syncAdminRole,
} from './identities.ts'
export {
  countMailByAdmin,
  countMailRequest,
  countRequestedMail,
  findServerName,
  inviteMail,
  type Mail,
  type MailRequest,
  magicLinkMail,
  resetMail,
} from './link-mails.ts'
export { nameKey, readName, readUserName } from './names.ts'
export { networkOf } from './networks.ts'
export { mailNotice } from './notices.ts'
export {
  createOneTimeLinks,
  deleteLinks,
  findLink,
  type LinkClaims,
  type OneTimeLinks,
  takeLink,
} from './one-time-links.ts'
export {
  createPasswordHasher,
  type Derivation,
  type PasswordHasher,
  type PasswordHasherOptions,
} from './password-hasher.ts'
export { hashPassword, verifyPassword } from './passwords.ts'
export { type Profile, updateProfile } from './profile.ts'
export { rotateRefresh, SessionReused } from './refresh.ts'
export { exitServer, removeUser } from './removal.ts'
export {
  type Actor,
  appointAdmin,
  assignRole,
  checkExpiry,
  lockAdminsAnd,
  lockAsAdmin,
  lockCallerAsAdmin,
  setRole,
} from './roles.ts'
export {
  applyFactorChange,
  applyMfaPolicy,
  deleteSecondFactors,
  findSecondFactors,
  type SecondFactors,
} from './second-factors.ts'
export { endSessions, type SessionEnd } from './session-endings.ts'
export {
  AccountDeactivated,
  findSessionOwner,
  isGuestOver,
  issueTokens,
  listSessions,
  type NewSession,
  requireActive,
  type SecondFactorMethod,
  type SessionKey,
  type SignInMethod,
  type StartedSession,
  startSession,
  userAgentLength,
} from './sessions.ts'
export { auditFailedSignIn, auditLockout, type FailedSignIn } from './sign-in-audit.ts'
export { claimFreeName, claimName } from './taken-names.ts'
export { recordUserUpdate } from './user-updates.ts'
export {
  createUser,
  findOrCreateUser,
  findUserByEmail,
  lockUser,
  lockUserIfLive,
  type NewUser,
  type RequestContext,
  renameUser,
} from './users.ts'
export { refuseWeakPassword } from './weak-passwords.ts'
export { recordWebhookOwnership } from './webhook-owners.ts'
