import { findChannel } from '@parley/access'
import { type Database, type Transaction, uuidv7 } from '@parley/database'
import type { GroupActor } from '@parley/groups'
import { changeGroupMembers, createGroup } from '@parley/groups'
import { leaveAllChannels, leaveAllGroups, recordForJoinedStreams } from '@parley/membership'
import { testEnvironment } from '@parley/test/test-environment'
import type { KyselyPlugin } from 'kysely'
import { beforeAll, expect, test } from 'vitest'

const environment = testEnvironment()
const actor = (): GroupActor => ({ source: 'local', actorId: environment.people.ada.id, ip: null, now: Date.now() })
const people: string[] = []

beforeAll(async () => {
  const { db } = environment.deps
  for (let n = 0; n < 12; n++) {
    const name = `guest-${n}`
    const id = uuidv7()
    people.push(id)
    await db
      .insertInto('users')
      .values({ id, userName: name, userNameKey: name, email: `${name}@example.com`, isGuest: true, createdAt: 1 })
      .execute()
  }
})

/** The number of statements of `work`, whose changes are taken back. */
async function countStatements(db: Database, work: (trx: Transaction) => Promise<unknown>): Promise<number> {
  let count = 0
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      count++
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const trx = await db.withPlugin(counter).startTransaction().execute()
  try {
    await work(trx)
  } finally {
    await trx.rollback().execute()
  }
  return count
}

test('the number of statements does not grow with the people who join a channel', async () => {
  const { ann } = environment.people
  const { db } = environment.deps
  const { id } = await ann.creates({ name: 'crowded' })
  await ann.says('unread', { id })
  const rows = people.map((userId) => ({ userId, channelId: id, isMuted: true, isFavourite: false }))
  await db.insertInto('channelPreferences').values(rows).execute()
  const channel = (await findChannel(db, id))!

  const join = (joined: string[]) =>
    countStatements(db, (trx) => recordForJoinedStreams(trx, channel, { joined, left: [] }))
  expect(await join(people)).toBe(await join(people.slice(0, 2)))
})

test('the number of statements does not grow with the guests who join a group', async () => {
  const { db } = environment.deps
  const group = await db.transaction().execute((trx) => createGroup(trx, { handle: 'guests', name: 'Guests' }, actor()))
  const join = (add: string[]) => countStatements(db, (trx) => changeGroupMembers(trx, group.id, { add }, actor()))
  expect(await join(people)).toBe(await join(people.slice(0, 2)))
})

test('the number of statements does not grow with the channels and groups of a removed person', async () => {
  const { db } = environment.deps
  const { ann, bob } = environment.people
  const remove = () =>
    countStatements(db, async (trx) => {
      await leaveAllGroups(trx, bob.id, Date.now())
      await leaveAllChannels(trx, bob.id)
    })
  const joinOne = async (n: number) => {
    await ann.creates({ name: `of bob ${n}`, isPrivate: true, members: [bob.id] })
    const fields = { handle: `of-bob-${n}`, name: `Of Bob ${n}`, members: [bob.id] }
    await db.transaction().execute((trx) => createGroup(trx, fields, actor()))
  }
  await joinOne(1)
  const few = await remove()
  for (const n of [2, 3, 4, 5]) await joinOne(n)
  expect(await remove()).toBe(few)
})
