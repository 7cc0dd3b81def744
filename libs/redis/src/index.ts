export { openRedis, type RedisClientOptions, type RedisSettings, redisNames } from './client.ts'
export {
  type Channel,
  connectRedis,
  followChannel,
  isReady,
  publish,
  publishCommand,
  type RedisConnection,
  readyOrUnavailable,
} from './connection.ts'
