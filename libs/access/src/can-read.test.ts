import type { Role } from '@parley/contract'
import { type ChannelKind, uuidv7 } from '@parley/database'
import { createDatabase, type TestDatabase } from '@parley/test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireAccess } from './access.ts'
import { canRead, canReadById, isReader } from './can-read.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const facts = fc.record({
  users: fc.array(fc.record({ role: fc.constantFrom<Role>('admin', 'member', 'guest') }), {
    minLength: 1,
    maxLength: 5,
  }),
  channels: fc.array(
    fc.record({
      kind: fc.constantFrom<ChannelKind>('public', 'private', 'direct'),
      isDeleted: fc.boolean(),
      /** Indexes into `users`. An index beyond the end is ignored. */
      members: fc.uniqueArray(fc.nat(5)),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})
type Facts = typeof facts extends fc.Arbitrary<infer F> ? F : never

async function store({ users, channels }: Facts) {
  const { db } = database
  const storedUsers = users.map(({ role }) => ({ id: uuidv7(), role }))
  const storedChannels = channels.map(({ kind, isDeleted, members }) => ({
    id: uuidv7(),
    kind,
    isDeleted,
    members: new Set(members.flatMap((index) => storedUsers[index]?.id ?? [])),
  }))
  await db
    .insertInto('users')
    .values(
      storedUsers.map(({ id, role }) => ({
        id,
        userName: id,
        userNameKey: id,
        email: id,
        isAdmin: role === 'admin',
        isGuest: role === 'guest',
        createdAt: 1,
      })),
    )
    .execute()
  await db
    .insertInto('channels')
    .values(
      storedChannels.map(({ id, kind, isDeleted }) => ({
        id,
        kind,
        name: id,
        nameKey: id,
        createdAt: 1,
        deletedAt: isDeleted ? 1 : null,
        directKey: kind === 'direct' ? id : null,
      })),
    )
    .execute()
  const rows = storedChannels.flatMap(({ id, members }) =>
    [...members].map((userId) => ({ channelId: id, userId, joinedAt: 1 })),
  )
  if (rows.length > 0) await db.insertInto('channelMembers').values(rows).execute()
  return { users: storedUsers, channels: storedChannels }
}

test('SQL, memory and the access check agree for every person and every channel', async () => {
  const holds = fc.asyncProperty(facts, async (chosen) => {
    const { users, channels } = await store(chosen)
    const { db } = database.as('messaging')
    const pairs = users.flatMap((user) => channels.map((channel) => ({ user, channel })))

    const inMemory = pairs.map(({ user, channel }) =>
      isReader(channel.kind, { role: user.role, isMember: channel.members.has(user.id) }),
    )
    const byColumns = await sql<{ reads: boolean; readsLive: boolean }>`
      select ${canRead('c', { userId: sql.ref('u.id'), role: sql.ref('u.role') })} as reads,
        ${canReadById('pair.channel_id', { userId: sql.ref('u.id'), role: sql.ref('u.role') })} as "readsLive"
      from unnest(
          ${pairs.map(({ user }) => user.id)}::uuid[], ${pairs.map(({ channel }) => channel.id)}::uuid[]
        ) with ordinality as pair (user_id, channel_id, n)
        join users u on u.id = pair.user_id join channels c on c.id = pair.channel_id
      order by n`.execute(db)
    expect(byColumns.rows.map(({ reads }) => reads)).toEqual(inMemory)
    expect(byColumns.rows.map(({ readsLive }) => readsLive)).toEqual(
      inMemory.map((reads, n) => reads && !pairs[n]!.channel.isDeleted),
    )

    for (const [n, { user, channel }] of pairs.entries()) {
      const caller = {
        userId: user.id,
        sessionId: '',
        userName: '',
        email: '',
        role: user.role,
        isAdmin: user.role === 'admin',
      }
      const row = await db
        .selectFrom('channels')
        .selectAll()
        .select(canRead('channels', caller).as('reads'))
        .where('id', '=', channel.id)
        .executeTakeFirstOrThrow()
      expect(row.reads).toBe(inMemory[n])
      const access = requireAccess(db, caller, row)
      await (inMemory[n] ? access : expect(access).rejects.toMatchObject({ status: 403 }))
    }
  })
  await fc.assert(holds, { numRuns: 25 })
})
