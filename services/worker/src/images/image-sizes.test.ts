import { uuidv7 } from '@parley/database'
import sharp from 'sharp'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { startImageSizes } from './image-sizes.ts'

const held = workerEnvironment()

let channelId: string
beforeAll(async () => {
  channelId = uuidv7()
  const name = { name: channelId, nameKey: channelId }
  await held.database.db
    .insertInto('channels')
    .values({ id: channelId, kind: 'public', ...name, createdAt: 1 })
    .execute()
})

/** An image as the previous version stores it, on this number of messages. */
async function enter(bytes: Buffer | undefined, messages: number, contentType = 'image/jpeg') {
  const { db } = held.database
  const filename = `${uuidv7()}.jpg`
  const facts = { originalName: 'a', contentType, size: 4, digest: Buffer.alloc(32), uploadedBy: uuidv7() }
  await db
    .insertInto('uploads')
    .values({ filename, kind: 'image', channelId, ...facts, createdAt: 1, storedAt: 1, idleSince: null })
    .execute()
  if (bytes) await held.deps.blobs.put(filename, bytes, { size: bytes.length, contentType })
  const ids = Array.from({ length: messages }, () => uuidv7())
  for (const [index, id] of ids.entries()) {
    await db
      .insertInto('messages')
      .values({ id, channelId, seq: Date.now() + index, content: '', images: [filename], createdAt: 1 } as never)
      .execute()
    await db.insertInto('messageUploads').values({ messageId: id, filename }).execute()
  }
  return { filename, ids }
}

const stored = (filename: string) =>
  held.database.db
    .selectFrom('uploads')
    .select(['width', 'height', 'sizeUnreadable'])
    .where('filename', '=', filename)
    .executeTakeFirstOrThrow()

test('images that were stored without a size get it, on all of their messages, and unreadable ones are skipped', async () => {
  const { db } = held.database
  const picture = sharp({ create: { width: 30, height: 20, channels: 3, background: 'teal' } })
  const damaged = await enter(Buffer.from('no image'), 1)
  const gone = await enter(undefined, 1)
  const readable = await enter(await picture.jpeg().toBuffer(), 2)
  await db
    .updateTable('messages')
    .set({ imageSizes: JSON.stringify({ other: [1, 2] }) })
    .where('id', '=', readable.ids[1]!)
    .execute()
  const running = startImageSizes(held.deps)
  onTestFinished(() => running.stop())

  await eventually(async () =>
    expect(await stored(readable.filename)).toEqual({ width: 30, height: 20, sizeUnreadable: false }),
  )
  for (const { filename } of [damaged, gone]) {
    expect(await stored(filename)).toEqual({ width: null, height: null, sizeUnreadable: true })
  }
  const messages = await db.selectFrom('messages').select(['id', 'imageSizes']).orderBy('id').execute()
  const sizes = { [readable.filename]: [30, 20] }
  expect(Object.fromEntries(messages.map(({ id, imageSizes }) => [id, imageSizes]))).toEqual({
    [damaged.ids[0]!]: null,
    [gone.ids[0]!]: null,
    [readable.ids[0]!]: sizes,
    [readable.ids[1]!]: { other: [1, 2], ...sizes },
  })
})
