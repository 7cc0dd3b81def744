export { anyOf, isUnset } from './conditions.ts'
export {
  type Connection,
  type ConnectionOptions,
  connectDatabase,
  type Database,
  type PooledClient,
  type Reader,
  type Transaction,
} from './connect.ts'
export { isDatabaseAway, isDuplicate, isOutOfTime, isSchemaMissing } from './failures.ts'
export { type AnswerForm, claimOf, findAnswer, keyLifetimeMs, keyReused, once, type RequestKey } from './idempotency.ts'
export { type Listing, type ListingPage, listAsJson, type PageRequest } from './listings.ts'
export {
  foldedText,
  listMessageIdsBelow,
  type MessageChanges,
  readChanges,
  readUnprojected,
  type Searchable,
  selectSearchable,
  selectUnprojected,
  type Unprojected,
  type UnprojectedRow,
} from './message-changes.ts'
export { migrate, requireSchema } from './migrate.ts'
export { looksLike, nameSkeleton } from './name-skeleton.ts'
export { executePrepared, prepared } from './prepared.ts'
export {
  buryNodes,
  endPresence,
  enterStreams,
  findPresenceChanges,
  keepNode,
  listPresence,
  type PresenceChange,
  type PresenceTimes,
  type StreamClaim,
  setPresence,
} from './presence.ts'
export { foldEvery, foldReads, readStateColumns, readStateOf, startReading, startReadingAll } from './read-states.ts'
export {
  type AuditAction,
  type AuditEntry,
  audit,
  type RecordedEvent,
  record,
  recordControl,
  recordJob,
} from './record.ts'
export { type DatabaseRole, databaseRoles, roleName } from './rights.ts'
export { letSignIn } from './roles.ts'
export { foldedFurther, foldParts, foldText, searchGrams, withoutPiles } from './search-text.ts'
export type * from './tables.ts'
export { DatabaseUnreachable } from './unreachable.ts'
export { releaseUploads, thumbnailKey } from './uploads.ts'
export { isRowId, uuidv7 } from './uuidv7.ts'
