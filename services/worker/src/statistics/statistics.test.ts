import { largeDatabase } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { analyseTables } from './statistics.ts'

const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`
    insert into idempotency_keys select uuidv7(), 'key', '\\x00', '{}', n from generate_series(1, 20000) n;
    insert into event_positions select n, array[n], n from generate_series(1, 20000) n`)

describe.each(['no statistics, as in a new installation', 'no statistics after a crash'] as const)(
  'with %s',
  (statistics) => {
    const database = largeDatabase(fill, { statistics })
    const rowsKnown = async (table: string) => {
      const { rows } = await database.pool.query('select reltuples::int as rows from pg_class where relname = $1', [
        table,
      ])
      return rows[0].rows as number
    }

    test('every table of some size is analysed, once', async () => {
      expect(await rowsKnown('idempotency_keys')).toBe(-1)
      expect((await analyseTables(database.as('worker').db)).sort()).toEqual(['event_positions', 'idempotency_keys'])
      expect(await rowsKnown('idempotency_keys')).toBe(20_000)
      expect(await analyseTables(database.as('worker').db)).toEqual([])
    })

    test('grown tables are analysed again after PostgreSQL crashed', async () => {
      await database.pool.query(
        "insert into idempotency_keys select uuidv7(), 'key', '\\x00', '{}', n from generate_series(1, 20000) n",
      )
      expect(await analyseTables(database.as('worker').db)).toEqual([])
      await database.crash()
      expect(await analyseTables(database.as('worker').db)).toContain('idempotency_keys')
      expect(await rowsKnown('idempotency_keys')).toBe(40_000)
    })
  },
)
