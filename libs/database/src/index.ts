export {
  type Connection,
  type ConnectionOptions,
  connectDatabase,
  type Database,
  type PooledClient,
  type Reader,
  type Transaction,
} from './connect.ts'
export { DatabaseUnreachable, isDatabaseUnavailable, isDuplicate, isOutOfTime, isSchemaMissing } from './failures.ts'
export {
  claimOf,
  claimOfFingerprints,
  findStoredResponse,
  keyLifetimeMs,
  keyReused,
  once,
  type RequestKey,
  type ResponseForm,
} from './idempotency.ts'
export { migrate, requireSchema } from './migrate.ts'
export { looksLike, nameSkeleton } from './name-skeleton.ts'
export {
  type AuditAction,
  type AuditEntry,
  audit,
  type RecordedEvent,
  record,
  recordAll,
  recordControl,
  recordJob,
} from './record.ts'
export { type DatabaseRole, databaseRoles, roleName } from './rights.ts'
export { setRolePassword } from './roles.ts'
export {
  anyOf,
  deleteSomeExpired,
  executePrepared,
  isUnset,
  lockByName,
  prepared,
  shareLockByName,
  tryLockByName,
} from './statements.ts'
export type * from './tables.ts'
export {
  type CustomStatusFields,
  customStatusText,
  isActive,
  isActiveText,
  type UserFields,
  userColumns,
  userFields,
  userUpdatePayload,
  userView,
} from './user-view.ts'
export { firstIdOf, isRowId, uuidv7 } from './uuidv7.ts'
