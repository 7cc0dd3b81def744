import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connectDatabase, isDatabaseUnavailable } from '@parley/database'
import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createPostgresStore } from './postgres-store.ts'
import { BlobMissing, type BlobStore } from './store.ts'

const options = { size: 1_000_000, contentType: 'text/plain' }
const bytes = Buffer.alloc(options.size, 'parley')
const hourMs = 3_600_000

describe('blobs in PostgreSQL', () => {
  let database: TestDatabase
  let blobs: BlobStore
  beforeAll(async () => {
    database = await createDatabase(3)
    blobs = createPostgresStore(database.as('messaging').db)
  })
  afterAll(() => database.drop())
  const chunks = async () => {
    const { rows } = await sql<{ n: number }>`select count(*) as n from blob_chunks`.execute(database.db)
    return rows[0]!.n
  }

  /** An upload whose process crashes after its first chunks: its connections are closed, so it cannot clean up. */
  async function crashHalfWay(key: string) {
    const own = connectDatabase({
      url: database.urlOf('messaging'),
      poolSize: 1,
      applicationName: 'dying',
      onIdleError: () => {},
    })
    const source = new Readable({ read() {} })
    source.push(bytes.subarray(0, 600_000))
    const before = await chunks()
    const upload = createPostgresStore(own.db).put(key, source, options)
    await expect.poll(chunks).toBe(before + 2)
    await own.close()
    source.push(bytes.subarray(600_000))
    source.push(null)
    await expect(upload).rejects.toThrow()
  }

  test('any number of concurrent readers leaves connections for other work', async () => {
    const few = connectDatabase({
      url: database.urlOf('messaging'),
      poolSize: 3,
      applicationName: 'few',
      onIdleError: () => {},
    })
    onTestFinished(() => few.close())
    await blobs.put('popular', bytes, options)
    const store = createPostgresStore(few.db)
    // The readers wait for the lock, and each one occupies a connection.
    const locked = await database.db.startTransaction().execute()
    await sql`lock table blob_chunks in access exclusive mode`.execute(locked)
    const readers = Array.from({ length: 10 }, async () => buffer(await store.get('popular')))
    await expect.poll(() => few.pool.totalCount - few.pool.idleCount).toBe(2)
    await sql`select 1`.execute(few.db)

    await locked.rollback().execute()
    for (const read of await Promise.all(readers)) expect(read.equals(bytes)).toBe(true)
    await blobs.delete(['popular'])
  })

  test('the parts of a crashed upload are visible to nobody and removed later', async () => {
    await blobs.put('whole', bytes, options)
    await crashHalfWay('half')
    await expect(blobs.get('half')).rejects.toThrow(BlobMissing)
    expect(await createPostgresStore(database.as('worker').db).sweep(hourMs)).toBe(0)

    await database.db
      .updateTable('blobs')
      .set({ createdAt: sql`now_ms() - ${2 * hourMs}` })
      .execute()
    expect(await createPostgresStore(database.as('worker').db).sweep(hourMs)).toBe(1)
    expect(await chunks()).toBe(4)
    expect((await buffer(await blobs.get('whole'))).equals(bytes)).toBe(true)
    await blobs.delete(['whole'])
    expect(await chunks()).toBe(0)
  })

  test('an upload may be repeated under the key of a crashed one, and deleting the key removes both', async () => {
    await crashHalfWay('again')
    await blobs.put('again', bytes, options)
    expect(await chunks()).toBe(6)
    await blobs.delete(['again'])
    expect(await chunks()).toBe(0)
  })

  test('an upload whose key is deleted meanwhile fails and leaves nothing', async () => {
    const source = new Readable({ read() {} })
    source.push(bytes.subarray(0, 600_000))
    const upload = blobs.put('deleted', source, options)
    await expect.poll(chunks).toBe(2)
    await blobs.delete(['deleted'])
    source.push(bytes.subarray(600_000))
    source.push(null)
    await expect(upload).rejects.toThrow()
    expect(await chunks()).toBe(0)
  })

  test('a reader of a file that is deleted meanwhile gets an error, never a shorter file', async () => {
    await blobs.put('read', bytes, options)
    const reader = await blobs.get('read')
    await blobs.delete(['read'])
    await expect(buffer(reader)).rejects.toThrow(BlobMissing)
  })

  test('an unavailable database is reported as unavailable', async () => {
    const away = connectDatabase({
      url: 'postgres://nobody:x@127.0.0.1:9/none',
      poolSize: 1,
      applicationName: 'away',
      onIdleError: () => {},
    })
    onTestFinished(() => away.close())
    const store = createPostgresStore(away.db)
    for (const attempt of [store.put('a', bytes, options), store.get('a'), store.delete(['a']), store.check()]) {
      const error = await attempt.catch((failure: unknown) => failure)
      expect(isDatabaseUnavailable(error)).toBe(true)
    }
  })
})
