import { samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'

const environment = testEnvironment()

test('ts is unique in its channel and increases with seq, even if the clock does not', async () => {
  const { ann, bob } = environment.people
  const channel = await ann.creates({ name: 'stamps' })
  environment.stopClock()
  const parent = await ann.says('parent', channel)
  const reply = (content: string) => bob.post(`/messages/${parent.id}/thread`, { content })
  // All in the same millisecond: through the shared statement, in separate transactions, and as replies.
  const attachments = [await ann.uploads('notes.txt', samples.txt)]
  await Promise.all([
    ...Array.from({ length: 20 }, (_, n) => ann.says(`message ${n}`, channel)),
    ...Array.from({ length: 5 }, (_, n) => reply(`reply ${n}`)),
    ann.sends(channel, { attachments }),
  ])
  // First the clock of another replica is behind, and then it is right again.
  environment.pass(-5_000)
  await ann.says('by a clock that is behind', channel)
  await reply('by a clock that is behind')
  environment.pass(10_000)
  const last = await ann.says('later', channel)

  const rows = await environment.deps.db
    .selectFrom('messages')
    .select(['threadId', 'seq', 'ts', 'createdAt'])
    .where('channelId', '=', channel.id)
    .orderBy('seq')
    .execute()
  expect(rows).toHaveLength(1 + 20 + 5 + 1 + 2 + 1)
  expect(new Set(rows.map(({ ts }) => ts)).size).toBe(rows.length)
  for (const threadId of [null, parent.id]) {
    const stamps = rows.filter((row) => row.threadId === threadId).map(({ ts }) => ts!)
    expect(stamps).toEqual(stamps.toSorted((one, other) => one - other))
  }
  expect(rows.find(({ createdAt }) => createdAt === last.createdAt)!.ts).toBe(last.createdAt * 1_000)
})
