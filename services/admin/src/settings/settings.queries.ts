import type { ServerSettings } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'

// The table has one row, which the migration inserts.

export const findSettings = (db: Reader): Promise<ServerSettings> =>
  db.selectFrom('serverSettings').select('name').executeTakeFirstOrThrow()

export const lockSettings = (trx: Transaction): Promise<ServerSettings> =>
  trx.selectFrom('serverSettings').select('name').forUpdate().executeTakeFirstOrThrow()

export const updateSettings = (trx: Transaction, settings: ServerSettings) =>
  trx.updateTable('serverSettings').set(settings).execute()
