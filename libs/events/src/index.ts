export { eventTypeOf, type PositionedEvent } from './batch.ts'
export { type Cursor, readCursor, requireCursor, writeCursor } from './cursor.ts'
export {
  createEphemeralFeed,
  createEphemeralPublisher,
  type EphemeralEvent,
  type EphemeralPublisher,
} from './ephemeral.ts'
export { readLog } from './event-sources.ts'
export { createFeed, type Feed, type FeedOptions } from './feed.ts'
export type { RotationHook } from './housekeeping.ts'
export { findNewestPosition, findOldestPosition } from './positions.queries.ts'
export { createRelay, type Relay, type RelayOptions } from './relay.ts'
export { createSignal, createWaker, type Signal } from './wake.ts'
