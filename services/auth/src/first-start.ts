import { ensureFirstStart } from '@parley/accounts'
import { isDatabaseAway, isSchemaMissing } from '@parley/database'
import type { Deps } from '@parley/service'

const pauseMs = 1_000

/**
 * Creates the initial admin and General in a fresh database. When the database is away, or not migrated yet, the
 * service starts all the same, and this is tried again until it is done.
 */
export function createFirstStart({ db, config, clock, logger }: Deps) {
  let retry: NodeJS.Timeout | undefined

  async function start(): Promise<void> {
    try {
      if (await ensureFirstStart(db, config, clock())) logger.info('created the initial admin')
    } catch (error) {
      if (!isDatabaseAway(error) && !isSchemaMissing(error)) throw error
      logger.warn({ err: error }, 'the database is away or has no schema yet, the first start waits for it')
      retry = setTimeout(() => start().catch(giveUp), pauseMs)
    }
  }

  const giveUp = (error: unknown) => logger.error({ err: error }, 'the first start failed')

  return { start, stop: async () => clearTimeout(retry) }
}
