export { type Cast, type People, signInCast } from './cast.ts'
export { requireContract } from './event-contract.ts'
export { EventStream, type Match, type Received, StreamRefused } from './event-stream.ts'
export {
  createDatabase,
  createDatabaseApart,
  createEmptyDatabase,
  createRedis,
  prepareDatabase,
  somebodyWaitsFor,
  type TestDatabase,
  type TestRedis,
} from './infrastructure.ts'
export {
  callerOf,
  everyStatistics,
  type LargeDatabase,
  largeDatabase,
  rowId,
  type Statistics,
  sqlRowId,
} from './large-database.ts'
export { type Letter, type Mailbox, openMailbox } from './mailbox.ts'
export { type Download, type HttpResponse, newMember, Person } from './person.ts'
export { type RedisServer, type RedisShapes, redisShapes, whyNoRedis } from './redis-topologies.ts'
export { samples } from './samples.ts'
export { configWithoutServers } from './settings.ts'
export { Waiters } from './waiters.ts'
