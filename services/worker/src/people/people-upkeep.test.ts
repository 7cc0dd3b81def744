import { uuidv7 } from '@parley/database'
import { expect, test } from 'vitest'
import { workerEnvironment } from '../worker.testing.ts'
import { expireStatuses, joinMissedPeople } from './people-upkeep.ts'

const held = workerEnvironment()

test('people whom the previous version created join General and chat.autoJoin once; guests and bots do not', async () => {
  const { db } = held.database
  const add = async (more: object = {}) => {
    const id = uuidv7()
    await db
      .insertInto('users')
      .values({ id, userName: id, userNameKey: id, email: `${id}@example.com`, createdAt: 1, ...more })
      .execute()
    return id
  }
  const channel = async (name: string) => {
    const id = uuidv7()
    await db
      .insertInto('channels')
      .values({ id, kind: 'public', name, nameKey: name.toLowerCase(), createdAt: 1 })
      .execute()
    return id
  }
  const [general, news] = [await channel('General'), await channel('News')]
  const [late, member] = [await add(), await add()]
  await add({ isGuest: true })
  await add({ isBot: true })
  await add({ removedAt: 2 })
  await add({ autoJoined: true })
  await db.insertInto('channelMembers').values({ channelId: general, userId: member, joinedAt: 1 }).execute()
  const deps = await held.depsWith({ chat: { autoJoin: ['news'] } })
  const events = async () => {
    const rows = await db.selectFrom('outbox').select(['event', 'routing']).orderBy('id').execute()
    return rows.map(({ event }) => JSON.parse(event!) as { type: string; payload: { id: string; joined?: string[] } })
  }

  expect(await joinMissedPeople(deps)).toBe(4)
  const members = await db.selectFrom('channelMembers').select(['channelId', 'userId']).execute()
  const sorted = (rows: { channelId: string; userId: string }[]) =>
    rows.map(({ channelId, userId }) => `${channelId} ${userId}`).sort()
  expect(sorted(members)).toEqual(
    sorted([
      { channelId: general, userId: late },
      { channelId: general, userId: member },
      { channelId: news, userId: late },
      { channelId: news, userId: member },
    ]),
  )
  expect((await events()).map(({ type, payload }) => [type, payload.id, payload.joined])).toEqual([
    ['NEW_CHANNEL', general, undefined],
    ['UPDATE_CHANNEL', general, [late]],
    ['NEW_CHANNEL', news, undefined],
    ['UPDATE_CHANNEL', news, [late, member]],
  ])

  await db.deleteFrom('channelMembers').where('userId', '=', late).where('channelId', '=', general).execute()
  expect(await joinMissedPeople(deps)).toBe(0)
})

test('a custom status is removed when it has expired, with an event', async () => {
  const { db } = held.database
  const add = async (more: object) => {
    const id = uuidv7()
    await db
      .insertInto('users')
      .values({
        id,
        userName: id,
        userNameKey: id,
        email: `${id}@example.com`,
        createdAt: 1,
        statusText: 'Out',
        ...more,
      })
      .execute()
    return id
  }
  const now = 1_000_000
  const over = await add({ statusEmoji: '🌴', statusExpiresAt: now })
  const later = await add({ statusExpiresAt: now + 1 })
  const forever = await add({})
  await add({ statusExpiresAt: now, removedAt: 2 })

  const deps = { db: held.deps.db, clock: () => now }
  expect(await expireStatuses(deps)).toBe(1)
  const textOf = async (id: string) =>
    await db
      .selectFrom('users')
      .select(['statusText', 'statusEmoji', 'statusExpiresAt'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  expect(await textOf(over)).toEqual({ statusText: null, statusEmoji: null, statusExpiresAt: null })
  expect(await textOf(later)).toMatchObject({ statusText: 'Out', statusExpiresAt: now + 1 })
  expect(await textOf(forever)).toMatchObject({ statusText: 'Out' })
  const { event } = await db
    .selectFrom('outbox')
    .select('event')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  expect(JSON.parse(event!)).toMatchObject({ type: 'UPDATE_USER', payload: { id: over, customStatus: null } })
  expect(await expireStatuses(deps)).toBe(0)
})
