import type { RequestContext } from '@parley/accounts'
import { type Database, type ExportParts, isRowId, type Reader, type Tables, type Transaction } from '@parley/database'
import type { Insertable, Selectable } from 'kysely'
import type { ExportRow } from './exports.schema.ts'

export type ExportPart = Selectable<ExportParts>

export const insertExport = (trx: Transaction, row: Insertable<Tables['exports']>): Promise<ExportRow> =>
  trx.insertInto('exports').values(row).returningAll().executeTakeFirstOrThrow()

/** An export that has not expired. */
export const findExport = async (db: Reader, id: string, now: number): Promise<ExportRow | undefined> =>
  isRowId(id)
    ? db.selectFrom('exports').selectAll().where('id', '=', id).where('expiresAt', '>', now).executeTakeFirst()
    : undefined

/** An export of this person that no worker has begun. */
export const findWaitingExport = (db: Reader, { caller, now }: RequestContext): Promise<ExportRow | undefined> =>
  db
    .selectFrom('exports')
    .selectAll()
    .where('requestedBy', '=', caller.userId)
    .where('state', '=', 'waiting')
    .where('expiresAt', '>', now)
    .orderBy('createdAt')
    .limit(1)
    .executeTakeFirst()

/** The parts of the document, in their order. Served by the primary key. */
export const listParts = (db: Database, { id, attempt }: ExportRow): Promise<ExportPart[]> =>
  db
    .selectFrom('exportParts')
    .selectAll()
    .where('exportId', '=', id)
    .where('attempt', '=', attempt)
    .orderBy('n')
    .execute()
