export { requireContract } from './event-contract.ts'
export { EventStream, type Match, type Received, StreamRefused } from './event-stream.ts'
export {
  createDatabase,
  createEmptyDatabase,
  createRedis,
  type TestDatabase,
  type TestRedis,
} from './infrastructure.ts'
export { type LargeDatabase, largeDatabase } from './large-database.ts'
export { somebodyWaitsFor } from './locks.ts'
export { type Letter, type Mailbox, openMailbox } from './mailbox.ts'
export { type Download, Person, type Reply } from './person.ts'
export { type RedisServer, type RedisShapes, redisShapes, whyNoRedis } from './redis.topologies.ts'
export { samples } from './samples.ts'
