import { applyMfaPolicy, ensureFirstStart } from '@parley/accounts'
import { isDatabaseUnavailable, isSchemaMissing } from '@parley/database'
import type { Deps } from '@parley/service'

const retryMs = 1_000

/**
 * Creates the initial admin and the channel General in an empty database, and updates the sessions when `auth.mfa` was
 * changed. When the database is unavailable or not migrated yet, the service starts nevertheless, and repeats this
 * until it succeeds.
 */
export function createFirstStart({ db, config, clock, logger }: Deps) {
  let retry: NodeJS.Timeout | undefined
  let isStopped = false

  async function start(): Promise<void> {
    try {
      if (await ensureFirstStart(db, config, clock())) logger.info('created the initial admin')
      const changed = await db.transaction().execute((trx) => applyMfaPolicy(trx, config.auth.mfa === 'required'))
      if (changed > 0) logger.info({ sessions: changed }, 'updated sessions to the new auth.mfa')
    } catch (error) {
      // The end of the connections interrupts an attempt.
      if (isStopped) return
      if (!isDatabaseUnavailable(error) && !isSchemaMissing(error)) throw error
      logger.warn(
        { err: error },
        'the database is unavailable or has no schema yet; the set-up of the first start is tried again',
      )
      retry = setTimeout(() => start().catch(logFailure), retryMs)
    }
  }

  const logFailure = (error: unknown) => logger.error({ err: error }, 'the set-up of the first start failed')

  async function stop(): Promise<void> {
    isStopped = true
    clearTimeout(retry)
  }

  return { start, stop }
}
