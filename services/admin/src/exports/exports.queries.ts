import type { Database, ExportParts, Exports, Reader, Tables, Transaction } from '@parley/database'
import { isRowId } from '@parley/database'
import type { Insertable, Selectable } from 'kysely'

export type ExportRow = Selectable<Exports>
export type ExportPart = Selectable<ExportParts>

export const insertExport = (trx: Transaction, row: Insertable<Tables['exports']>): Promise<ExportRow> =>
  trx.insertInto('exports').values(row).returningAll().executeTakeFirstOrThrow()

/** An export that has not expired. */
export const findExport = async (db: Reader, id: string, now: number): Promise<ExportRow | undefined> =>
  isRowId(id)
    ? db.selectFrom('exports').selectAll().where('id', '=', id).where('expiresAt', '>', now).executeTakeFirst()
    : undefined

/** The parts of the document, in their order. Served by the primary key. */
export const listParts = (db: Database, { id, attempt }: ExportRow): Promise<ExportPart[]> =>
  db
    .selectFrom('exportParts')
    .selectAll()
    .where('exportId', '=', id)
    .where('attempt', '=', attempt)
    .orderBy('n')
    .execute()
