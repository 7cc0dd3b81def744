import { buffer } from 'node:stream/consumers'
import { type AvatarSide, avatarKey } from '@parley/blobs'
import { uuidv7 } from '@parley/database'
import sharp from 'sharp'
import { beforeEach, expect, test } from 'vitest'
import { cleanUp } from '../clean-up/clean-up.ts'
import { workerEnvironment } from '../worker.testing.ts'
import { makeAvatar } from './avatars.ts'

const held = workerEnvironment()
beforeEach(() => held.database.pool.query('truncate avatars, jobs, blobs, outbox cascade'))

const halves = () =>
  sharp({
    create: { width: 400, height: 200, channels: 3, background: 'red' },
  })
    .composite([{ input: { create: { width: 100, height: 200, channels: 3, background: 'blue' } }, left: 0, top: 0 }])
    .png()
    .toBuffer()

async function person(): Promise<string> {
  const id = uuidv7()
  const name = { userName: id, userNameKey: id, userNameSkeleton: id, email: `${id}@example.com` }
  await held.database.db
    .insertInto('users')
    .values({ id, ...name, createdAt: 1 })
    .execute()
  return id
}

/** An avatar that waits for the worker. */
async function pending(userId: string, image: Buffer, createdAt = Date.now()): Promise<string> {
  const version = uuidv7()
  await held.database.db.insertInto('avatars').values({ version, userId, createdAt }).execute()
  await held.deps.blobs.put(avatarKey(version, 'original'), image, { size: image.length, contentType: 'image/png' })
  return version
}

const stored = async (version: string, side: AvatarSide) => buffer(await held.deps.blobs.get(avatarKey(version, side)))
const shownBy = async (id: string) =>
  (await held.database.db.selectFrom('users').select('avatarVersion').where('id', '=', id).executeTakeFirstOrThrow())
    .avatarVersion
const rows = () => held.database.db.selectFrom('avatars').select('version').execute()
const keys = async () => (await held.database.db.selectFrom('blobs').select('key').execute()).map(({ key }) => key)
const deletedKeys = async () => {
  const jobs = await held.database.db.selectFrom('jobs').select('data').where('name', '=', 'delete-blobs').execute()
  return jobs.flatMap(({ data }) => (data as { keys: string[] }).keys).sort()
}
const events = async () => (await held.database.db.selectFrom('outbox').selectAll().execute()).length

test('an avatar is the middle of the image, in both sizes, with one event', async () => {
  const userId = await person()
  const version = await pending(userId, await halves())
  await Promise.all([makeAvatar(held.deps, { version }), makeAvatar(held.deps, { version })])
  await makeAvatar(held.deps, { version })
  expect(await shownBy(userId)).toBe(version)
  for (const side of [64, 256] as const) {
    const image = sharp(await stored(version, side))
    expect(await image.metadata()).toMatchObject({ format: 'webp', width: side, height: side })
    // The blue quarter on the left is cut off.
    expect((await image.stats()).channels[2]!.mean).toBeLessThan(20)
  }
  expect(await events()).toBe(1)
  expect(await deletedKeys()).toContain(avatarKey(version, 'original'))
})

test('an avatar that is removed while it is encoded leaves no bytes, and is not shown', async () => {
  const userId = await person()
  const version = await pending(userId, await halves())
  const { blobs } = held.deps
  const removing: typeof blobs = {
    ...blobs,
    async put(...args) {
      await blobs.put(...args)
      await held.database.db.deleteFrom('avatars').execute()
    },
  }
  await makeAvatar({ ...held.deps, blobs: removing }, { version })
  expect([await shownBy(userId), await keys(), await events()]).toEqual([null, [], 0])
})

test('an avatar of a person who is removed while it is encoded is not shown', async () => {
  const userId = await person()
  const version = await pending(userId, await halves())
  await held.database.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', userId).execute()
  await makeAvatar(held.deps, { version })
  expect([await shownBy(userId), await keys(), await events()]).toEqual([null, [], 0])
})

test('the clean-up deletes avatars that were never encoded and those of removed people, and no others', async () => {
  const [ann, bob, cat] = [await person(), await person(), await person()]
  const shown = await pending(ann, await halves(), 1)
  await makeAvatar(held.deps, { version: shown })
  const lost = await pending(ann, await halves(), 1)
  const recent = await pending(bob, await halves())
  const left = await pending(cat, await halves(), 1)
  await makeAvatar(held.deps, { version: left })
  await held.database.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', cat).execute()

  await cleanUp(held.deps)
  expect((await rows()).map(({ version }) => version).sort()).toEqual([shown, recent].sort())
  const deleted = await deletedKeys()
  for (const version of [lost, left]) expect(deleted).toContain(avatarKey(version, 'original'))
  for (const side of [64, 256] as const) {
    expect(deleted).toContain(avatarKey(left, side))
    expect(deleted).not.toContain(avatarKey(shown, side))
  }
})
