export { type AttemptLimit, countAttempt, networkOf } from './attempts.ts'
export { type PasswordChange, proveEmail, setPassword } from './credentials.ts'
export { readEmail, readKnownEmail } from './emails.ts'
export { ensureFirstStart, type FirstStart, initialUserFaults } from './first-start.ts'
export { countWrongGuess, type Guess, type GuessScope, refuseTooManyGuesses } from './guesses.ts'
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
export type { LinkClaims } from './one-time-links.ts'
export { createOneTimeLinks, findLink, type NewLink, type OneTimeLinks, takeLink } from './one-time-links.ts'
export {
  createPasswordHasher,
  type Derivation,
  type PasswordHasher,
  type PasswordHasherOptions,
} from './password-hasher.ts'
export { hashPassword, verifyPassword } from './passwords.ts'
export { type Rotation, rotateRefresh, SessionReused } from './refresh.ts'
export { exitServer, removeUser } from './removal.ts'
export { appointAdmin, lockAsAdmin, type Role, setRole, stayAdmin } from './roles.ts'
export {
  type EndedSessions,
  endSessions,
  findSessionOwner,
  issueTokens,
  listSessions,
  type NewSession,
  type SessionEnd,
  type SessionKey,
  type SignInMethod,
  type StartedSession,
  startSession,
} from './sessions.ts'
export { auditFailedSignIn, auditLockout, type FailedSignIn } from './sign-in-audit.ts'
export {
  type Act,
  createUser,
  findOrCreateUser,
  findUserByEmail,
  lockUser,
  lockUserIfLive,
  type NewUser,
  renameUser,
} from './users.ts'
export { announceWebhooks } from './webhook-owners.ts'
