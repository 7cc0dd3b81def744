import { thumbnailKey } from '@parley/blobs'
import { type ObjectStore, startObjectStore } from '@parley/blobs/testing'
import { recordJob, uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { addThumbnail } from '../images/thumbnails.ts'
import { worker } from '../service.ts'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { cleanUp } from './clean-up.ts'

const held = workerEnvironment()
const hourMs = 3_600_000
const inADay = () => Date.now() + 25 * hourMs
const image = () =>
  sharp({ create: { width: 600, height: 300, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer()

describe.each(['postgresql', 's3'] as const)('bytes in the store %s whose row is gone', (store) => {
  let server: ObjectStore
  let deps: Deps
  beforeAll(async () => {
    server = await startObjectStore()
    deps = await held.depsWith({ storage: { store, s3: server.settings } })
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    await deps.blobs.delete(await names())
    await held.database.pool.query('truncate uploads, message_uploads, jobs, blobs cascade')
  })

  /** All names in the store, also those of incomplete uploads. */
  const names = async () => {
    if (store === 's3') return (await server.names()).map((name) => name.replace(server.settings.keyPrefix, ''))
    const rows = await held.database.db.selectFrom('blobs').select('key').orderBy('key').execute()
    return rows.map(({ key }) => key)
  }

  async function enter(kind: 'file' | 'image', { stored = true, used = false } = {}) {
    const filename = `${uuidv7()}.${kind === 'file' ? 'txt' : 'jpg'}`
    const now = Date.now()
    const facts = { originalName: 'a', size: 4, digest: Buffer.alloc(32), uploadedBy: uuidv7(), createdAt: now }
    const place = { channelId: kind === 'image' ? uuidv7() : null, contentType: 'image/jpeg' }
    await held.database.db
      .insertInto('uploads')
      .values({ filename, kind, ...facts, ...place, storedAt: stored ? now : null, idleSince: used ? null : now })
      .execute()
    if (used) await held.database.db.insertInto('messageUploads').values({ messageId: uuidv7(), filename }).execute()
    return filename
  }
  const put = async (key: string, bytes: Buffer) =>
    deps.blobs.put(key, bytes, { size: bytes.length, contentType: 'image/jpeg' })

  async function work() {
    const running = worker(deps)
    await running.start!()
    onTestFinished(async () => running.stop!())
  }

  test('are deleted, with thumbnails, but no file of a message', async () => {
    const [idle, used, file] = [await enter('image'), await enter('image', { used: true }), await enter('file')]
    for (const filename of [idle, used]) {
      await put(filename, await image())
      await addThumbnail(deps, { filename })
    }
    await put(file, Buffer.from('text'))
    expect(await names()).toHaveLength(5)

    await cleanUp({ ...deps, clock: inADay })
    await work()
    await eventually(async () => expect(await names()).toEqual([used, thumbnailKey(used)]))
  })

  test('are deleted when an upload or the making of a thumbnail died half-way', async () => {
    const [early, late, thumbnail] = [
      await enter('image', { stored: false }),
      await enter('image', { stored: false }),
      await enter('image'),
    ]
    // Processes that crashed before they stored the bytes, after they stored the bytes, and after they stored a
    // thumbnail but before they recorded it.
    await put(late, await image())
    await put(thumbnail, await image())
    await put(thumbnailKey(thumbnail), await image())
    if (store === 'postgresql') {
      await held.database.db
        .insertInto('blobs')
        .values({ id: uuidv7(), key: early, size: 9, contentType: 'a/b', createdAt: 1 })
        .execute()
    }
    await cleanUp({ ...deps, clock: inADay })
    await work()
    await eventually(async () => expect(await names()).toEqual([]))
    expect(await held.database.db.selectFrom('uploads').select('filename').execute()).toEqual([])
  })

  test('are deleted when the thumbnail is made after the image was collected', async () => {
    const filename = await enter('image')
    await put(filename, await image())
    await cleanUp({ ...deps, clock: inADay })
    await put(thumbnailKey(filename), await image())
    await held.database.db.transaction().execute((trx) => recordJob(trx, 'make-thumbnail', { filename }))
    await work()
    await eventually(async () => expect(await names()).toEqual([]))
  })

  test.runIf(store === 's3')('wait in their job while the store is unavailable', async () => {
    const filename = await enter('file')
    await put(filename, Buffer.from('text'))
    await cleanUp({ ...deps, clock: inADay })
    await server.interrupt()
    await work()
    // The first attempt has failed, and the job still exists.
    await eventually(async () => expect(await failedAttempts(deps)).toBeGreaterThan(0))
    expect(await held.database.db.selectFrom('jobs').select('failedAt').execute()).toEqual([{ failedAt: null }])
    await server.resume()
    await held.database.db.transaction().execute((trx) => recordJob(trx, 'delete-blobs', { keys: [filename] }))
    await eventually(async () => expect(await names()).toEqual([]))
  })
})

const failedAttempts = async ({ metrics }: Deps) => {
  const text = await metrics.text()
  const [, count] = /parley_jobs_total\{[^}]*delete-blobs[^}]*failed[^}]*\} (\d+)/.exec(text) ?? []
  return Number(count ?? 0)
}
