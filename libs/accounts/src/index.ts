export { readEmail } from './emails.ts'
export { ensureFirstStart, type FirstStart } from './first-start.ts'
export { nameKey, readName, readUserName } from './names.ts'
export { hashPassword, verifyPassword } from './passwords.ts'
export { type Rotation, rotateRefresh } from './refresh.ts'
export { exitServer, removeUser } from './removal.ts'
export { type Role, setRole } from './roles.ts'
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
  lockUser,
  type NewUser,
  renameUser,
} from './users.ts'
