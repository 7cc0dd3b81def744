export type { PositionedEvent } from './batch.format.ts'
export {
  createEphemeralFeed,
  createEphemeralPublisher,
  type EphemeralEvent,
  type EphemeralFeed,
  type EphemeralPublisher,
} from './ephemeral.ts'
export { createFeed, type Feed, type FeedOptions } from './feed.ts'
export { redisNames } from './keys.ts'
export { type Channel, followChannel } from './redis.channel.ts'
export { openRedis, type RedisSettings } from './redis.client.ts'
export { connectRedis, type RedisConnection } from './redis.connection.ts'
export { createRelay, type Relay } from './relay.ts'
export type { RelayOptions } from './relay.turn.ts'
export { createSignal, type Signal } from './signal.ts'
export { createWaker, type Waker } from './waker.ts'
