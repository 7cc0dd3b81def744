import type { JobName } from '@parley/contract'
import { openRedis, type RedisSettings, redisNames } from '@parley/redis'
import { Queue } from 'bullmq'
import { expect, vi } from 'vitest'

/** Waits until `count` jobs of this name wait for their next attempt, and starts these attempts now. */
export async function tryDelayedNow(settings: RedisSettings, name: JobName, count: number): Promise<void> {
  const connection = openRedis(settings, {
    connectionName: 'parley-test',
    maxRetriesPerRequest: null,
    retryStrategy: () => 100,
  })
  const queue = new Queue(name, { connection, prefix: redisNames(settings).jobs })
  try {
    await vi.waitFor(async () => expect(await queue.getDelayedCount()).toBe(count), { timeout: 20_000, interval: 20 })
    await queue.promoteJobs()
  } finally {
    await queue.close()
    connection.disconnect()
  }
}
