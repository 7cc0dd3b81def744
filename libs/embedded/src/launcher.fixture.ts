/**
 * A launcher that the tests kill. It starts both servers in the directory of its first argument, prints their pids and
 * URLs, and keeps running.
 */
import { join } from 'node:path'
import { lockDataDirectory, startPostgres, startRedis } from './index.ts'

const directory = process.argv[2]!
await lockDataDirectory(directory)
const [postgres, redis] = await Promise.all([
  startPostgres({ directory: join(directory, 'postgres'), durable: true }),
  startRedis({ directory: join(directory, 'redis'), durable: true }),
])
process.stdout.write(
  `${JSON.stringify({ postgres: postgres.pid, redis: redis.pid, urls: [postgres.url, redis.url] })}\n`,
)
setInterval(() => {}, 60_000)
