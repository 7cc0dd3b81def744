export { openRedis, type RedisSettings, redisNames } from './client.ts'
export {
  type Channel,
  connectRedis,
  followChannel,
  isReady,
  publish,
  publishCommand,
  readyOrUnavailable,
} from './connection.ts'
