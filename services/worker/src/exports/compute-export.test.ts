import type { JobData } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { computeExport, deleteOldExports, giveUpExport } from './compute-export.ts'
import { exportDocument } from './export-document.ts'
import { createExporter } from './exporter.ts'
import {
  blockStoring,
  compareMessages,
  fillServer,
  linesOf,
  requestExport,
  stateOf,
  WorkerProcess,
} from './exports.testing.ts'

/** For a larger export: EXPORT_MESSAGES=1000000 npx vitest run services/worker/src/exports */
const messages = Number(process.env.EXPORT_MESSAGES ?? 30_000)
const patience = { timeout: 60_000 + messages / 5, interval: 20 }

const held = workerEnvironment()
const never = new AbortController().signal
const blobsOf = async (id: string) =>
  (await held.database.pool.query('select key from blobs where key like $1 order by key', [`exports/${id}/%`])).rows

/** Does the jobs that `deleteOldExports` has recorded. */
async function deleteBlobsAsAsked() {
  const { db } = held.database
  const { blobs } = held.deps
  const jobs = await db.deleteFrom('jobs').where('name', '=', 'delete-blobs').returning('data').execute()
  for (const { data } of jobs) await blobs.delete((data as JobData<'delete-blobs'>).keys)
}

beforeAll(() => fillServer(held.database.pool, 2_000))
beforeEach(() => held.database.pool.query('truncate jobs'))

describe('computing an export', () => {
  test('ends when another worker has started the export again, and changes nothing of it', async () => {
    const { deps } = held
    const id = await requestExport(held.database)
    let rival: Promise<void> | undefined
    // While the first process stores its first part, the second one begins.
    const blobs = {
      ...deps.blobs,
      put: async (...args: Parameters<typeof deps.blobs.put>) => {
        rival ??= computeExport(deps, { exportId: id }, never)
        await rival
        return deps.blobs.put(...args)
      },
    }
    await expect(computeExport({ ...deps, blobs }, { exportId: id }, never)).rejects.toThrow(
      /begun a newer attempt of this export/,
    )
    expect(await stateOf(deps, id)).toMatchObject({ state: 'ready', attempt: 2 })
    expect(await compareMessages(deps, id)).toBeGreaterThan(0)

    await deleteOldExports(deps.db, 1e16)
    await deleteBlobsAsAsked()
    expect([await stateOf(deps, id), await blobsOf(id)]).toEqual([undefined, []])
  })

  test.each(['before', 'after'])('leaves nothing when the export expires just %s a part was stored', async (when) => {
    const { deps } = held
    const id = await requestExport(held.database)
    const expire = () => deleteOldExports(deps.db, 1e16)
    const blobs = {
      ...deps.blobs,
      put: async (...args: Parameters<typeof deps.blobs.put>) => {
        if (when === 'before') await expire().then(deleteBlobsAsAsked)
        await deps.blobs.put(...args)
        if (when === 'after') await expire()
      },
    }
    await expect(computeExport({ ...deps, blobs }, { exportId: id }, never)).rejects.toThrow('this export was deleted')
    await deleteBlobsAsAsked()
    expect([await stateOf(deps, id), await blobsOf(id)]).toEqual([undefined, []])
  })

  test('ends when the worker stops, and releases its connection', async () => {
    const { deps } = held
    const id = await requestExport(held.database)
    const stopping = AbortSignal.abort(new Error('stopping'))
    await expect(computeExport(deps, { exportId: id }, stopping)).rejects.toThrow('stopping')
    await eventually(() => expect(deps.pool.totalCount - deps.pool.idleCount).toBe(0))
    expect(await stateOf(deps, id)).toMatchObject({ state: 'running' })
  })

  test('that fails with its store leaves nothing open, and may be given up', async () => {
    const { deps } = held
    const id = await requestExport(held.database)
    const blobs = { ...deps.blobs, put: () => Promise.reject(new Error('the store is unavailable')) }
    await expect(computeExport({ ...deps, blobs }, { exportId: id }, never)).rejects.toThrow('the store is unavailable')
    await eventually(() => expect(deps.pool.totalCount - deps.pool.idleCount).toBe(0))
    await giveUpExport(deps, { exportId: id })
    expect(await stateOf(deps, id)).toMatchObject({ state: 'failed' })
    await computeExport(deps, { exportId: id }, never)
    expect(await stateOf(deps, id)).toMatchObject({ state: 'failed' })
  })

  test('gives the export up after 20 attempts, for example when it crashes each worker', async () => {
    const { deps } = held
    const id = await requestExport(held.database)
    await held.database.pool.query(`update exports set attempt = 20, state = 'running' where id = $1`, [id])
    await computeExport(deps, { exportId: id }, never)
    expect(await stateOf(deps, id)).toMatchObject({ state: 'failed' })
  })

  test('of a deleted export does nothing', async () => {
    await computeExport(held.deps, { exportId: uuidv7() }, never)
  })
})

test('the export thread ends its work when the worker stops, and is started again after a crash', async () => {
  const { deps } = held
  const id = await requestExport(held.database)
  const exporter = createExporter(deps.config)
  const stopping = new AbortController()
  const stopped = exporter.compute({ exportId: id }, stopping.signal)
  stopping.abort()
  await expect(stopped).rejects.toThrow('stopping')

  const brokenDown = exporter.compute({ exportId: id }, never)
  await Promise.all([expect(brokenDown).rejects.toThrow('ended with code 1'), exporter.stop()])
  await exporter.compute({ exportId: id }, never)
  expect(await stateOf(deps, id)).toMatchObject({ state: 'ready' })
  await exporter.stop()
})

test('an export that begins while an idle export thread ends gets a new thread', async () => {
  const { deps } = held
  const [first, second] = [await requestExport(held.database), await requestExport(held.database)]
  const exporter = createExporter(deps.config)
  await exporter.compute({ exportId: first }, never)
  const ending = exporter.stop()
  await exporter.compute({ exportId: second }, never)
  await ending
  expect(await stateOf(deps, second)).toMatchObject({ state: 'ready' })
  await exporter.stop()
})

test('a document has the state of one moment, also when data changes while it is read', async () => {
  const { pool } = held.database
  const name = async () => (await pool.query('select name from server_settings')).rows[0].name
  let text = ''
  for await (const piece of exportDocument(held.deps.pool)) {
    if (text === '')
      await pool.query(
        `insert into users (id, user_name, user_name_key, email, created_at) values ($1, 'late', 'late', 'late', 1)`,
        [uuidv7()],
      )
    text += piece
    if (piece.includes('"channels"')) break
  }
  expect(text).toContain(
    JSON.stringify({ name: await name() })
      .slice(1, -1)
      .replace(':', ' : '),
  )
  expect(text).toContain('person 7')
  expect(text).not.toContain('late')
  const used = held.deps.pool
  await eventually(() => expect(used.totalCount - used.idleCount).toBe(0))
})

test('every line of a document is a record, or syntax between records', async () => {
  const { deps } = held
  const id = await requestExport(held.database)
  await computeExport(deps, { exportId: id }, never)
  let others = 0
  for await (const line of linesOf(deps, id)) {
    if (line.startsWith('{"id"') || line.startsWith('{"id" :')) JSON.parse(line.replace(/,$/, ''))
    else others += 1
  }
  expect(others).toBeLessThan(30)
})

describe('an export', () => {
  const workers: WorkerProcess[] = []
  const startWorker = async () => {
    const { config } = await held.depsWith({
      jobs: { takeOverSeconds: 2 },
      server: { port: 0 },
      // The smallest possible pool.
      database: { url: held.deps.config.database.url, poolSize: 2 },
    })
    const worker = new WorkerProcess(config)
    workers.push(worker)
    return worker
  }
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.end('SIGKILL')))
  })

  test('is taken over from a killed worker, with a new snapshot and little memory, and matches the database', async () => {
    const { deps } = held
    await fillServer(held.database.pool, messages)
    const storing = await blockStoring(held.database.pool)
    onTestFinished(storing.end)
    const first = await startWorker()
    const id = await requestExport(held.database)
    await vi.waitFor(async () => expect(await storing.waiting()).toHaveLength(1), patience)
    await first.end('SIGKILL')
    await storing.end()
    expect(await stateOf(deps, id)).toMatchObject({ state: 'running', attempt: 1 })
    // This change is not in the snapshot of the first attempt.
    await held.database.pool.query(
      `update messages set deleted_at = 1 where id = (select min(id::text)::uuid from messages where deleted_at is null)`,
    )
    await held.database.pool.query(
      `insert into messages (id, channel_id, seq, author_id, content, created_at)
       select $1, channel_id, 1000000000, author_id, 'a late word', 1 from messages m
       where exists (select from channels c where c.id = m.channel_id and c.deleted_at is null) limit 1`,
      [uuidv7()],
    )

    const second = await startWorker()
    await vi.waitFor(async () => expect((await stateOf(deps, id))!.state).toBe('ready'), patience)
    const peak = await second.peakMegabytes()
    if (peak !== undefined) expect(peak).toBeLessThan(300)
    expect((await stateOf(deps, id))!.attempt).toBe(2)
    const count = await compareMessages(deps, id)
    expect(count).toBeGreaterThan(messages * 0.9)
    expect((await blobsOf(id)).every(({ key }) => key.startsWith(`exports/${id}/2/`))).toBe(true)
    process.stdout.write(
      `exported ${count} messages in ${(await stateOf(deps, id))!.size} bytes, ${peak?.toFixed()} MB at most\n`,
    )
  }, 600_000)
})
