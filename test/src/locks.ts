import type { Transaction } from '@parley/database'
import { sql } from 'kysely'

/** Resolves when a statement waits for a lock of this transaction. Other waits are ignored. */
export async function somebodyWaitsFor(trx: Transaction): Promise<void> {
  const waiting = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`
  while ((await waiting.execute(trx)).rows.length === 0);
}
