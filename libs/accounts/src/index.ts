export { type AttemptLimit, countAttempt } from './attempts.ts'
export { type PasswordChange, proveEmail, setPassword } from './credentials.ts'
export { readEmail } from './emails.ts'
export { ensureFirstStart, type FirstStart } from './first-start.ts'
export { countWrongGuess, type Guess, refuseTooManyGuesses } from './guesses.ts'
export { countMail, findServerName, inviteMail, type Mail, magicLinkMail, resetMail } from './link-mails.ts'
export type { LinkClaims } from './link-tokens.ts'
export { nameKey, readName, readUserName } from './names.ts'
export { networkOf } from './networks.ts'
export { createOneTimeLinks, findLink, type NewLink, type OneTimeLinks, takeLink } from './one-time-links.ts'
export { createPasswordHasher, type PasswordHasher, type PasswordHasherOptions } from './password-hasher.ts'
export { hashPassword, verifyPassword } from './passwords.ts'
export { type Rotation, rotateRefresh } from './refresh.ts'
export { exitServer, removeUser } from './removal.ts'
export { appointAdmin, lockAsAdmin, type Role, setRole } from './roles.ts'
export {
  type EndedSessions,
  endSessions,
  findSessionOwner,
  issueTokens,
  listSessions,
  type NewSession,
  type SessionKey,
  startSession,
} from './sessions.ts'
export {
  type Act,
  createUser,
  findOrCreateUser,
  findUserByEmail,
  lockLivePeople,
  lockUser,
  lockUserIfLive,
  type NewUser,
  renameUser,
} from './users.ts'
