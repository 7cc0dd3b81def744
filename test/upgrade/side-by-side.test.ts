import type { Channel } from '@parley/contract'
import { databaseRoles, roleName } from '@parley/database'
import { createEmptyDatabase, createRedis, Person, type TestDatabase, type TestRedis } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countAcknowledged, PersistentSender, untilAcknowledged } from '../faults/persistent-sender.ts'
import { ResumingReader } from '../faults/resuming-reader.ts'
import { type Installation, launch } from '../src/launch.ts'
import { type Checkout, checkOutPreviousVersion, hasPreviousVersion } from './previous-version.ts'

const isThere = await hasPreviousVersion()
if (!isThere) process.stderr.write('skipped: the history of this checkout does not reach back to the version before\n')

/**
 * An upgrade under load: while the previous version runs, this version migrates its database and starts beside it. Both
 * serve, and then the previous version stops. Both share PostgreSQL and Redis, so either one may hold the relay's lease
 * at any time.
 */
describe.skipIf(!isThere)('an upgrade', () => {
  let database: TestDatabase
  let redis: TestRedis
  let checkout: Checkout
  let before: Installation
  let after: Installation | undefined

  const start = (root?: string) =>
    launch('cluster', {
      replicas: 1,
      database,
      ...(root && { root }),
      env: {
        REDIS_URL: redis.url,
        PARLEY_AUTH_JWT_SECRET: 'one secret for both versions, of more than 32 characters',
      },
    })

  /** The roles of services that have a connection, in either version. */
  const signedIn = async () => {
    const { rows } = await database.pool.query<{ role: string }>(`
      select distinct usename as role from pg_stat_activity
      where datname = current_database() and usename like 'parley_%' order by 1`)
    return rows.map(({ role }) => role)
  }

  beforeAll(async () => {
    ;[database, redis, checkout] = await Promise.all([createEmptyDatabase(), createRedis(), checkOutPreviousVersion()])
    before = await start(checkout.root)
  })
  afterAll(async () => {
    await after?.discard()
    await before?.discard()
    await Promise.all([database?.drop(), redis?.discard(), checkout?.discard()])
  })

  test('loses no message and no event, whichever version serves, relays or stops', { timeout: 180_000 }, async () => {
    const ann = await Person.signIn(before.baseUrl, 'ann@example.com')
    const channel = await ann.creates({ name: 'upgrade' })
    const readers = [await reader(before, 'old@example.com')]
    const senders = [await sender(before, 'old-sender@example.com', channel)]
    await untilAcknowledged(senders, 50)

    after = await start()
    expect(await signedIn()).toEqual(databaseRoles.map(roleName).sort())
    readers.push(await reader(after, 'new@example.com'))
    senders.push(await sender(after, 'new-sender@example.com', channel))
    await untilAcknowledged(senders, 150)
    await Person.signIn(before.baseUrl, 'late@example.com')

    // A restarted process of the previous version must work with the new schema.
    await before.kill('messaging', 'SIGKILL')
    await before.kill('worker', 'SIGKILL')
    await untilAcknowledged(senders, 300)
    await after.kill('worker', 'SIGKILL')
    await untilAcknowledged(senders, 400)

    await senders[0]!.stop()
    await untilAllHeard(readers, senders)
    await readers[0]!.stop()
    await before.stop()
    await untilAcknowledged(senders, 450)
    await senders[1]!.stop()
    const late = await Person.signIn(after.baseUrl, 'late@example.com')
    await expect.poll(() => namesOfJoined(late), { timeout: 30_000 }).toContain('General')

    const acknowledged = senders.flatMap((each) => each.acknowledged)
    const newest = Math.max(...acknowledged.map(({ seq }) => seq))
    await readers[1]!.untilHeard(channel.id, senders[1]!.acknowledged.length, 60_000)
    for (const each of [...senders, ...readers]) expect(each.faults).toEqual([])
    for (const each of readers) {
      const seqs = each.heard.get(channel.id)!.map(({ seq }) => seq)
      expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other))
      expect(seqs).toEqual(Array.from(seqs, (_, index) => seqs[0]! + index))
    }
    const stored = await (await Person.signIn(after.baseUrl, 'ann@example.com')).readsAll(
      `/channels/${channel.id}/messages`,
    )
    expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: newest }, (_, index) => index + 1))
    const storedIds = new Set(stored.map(({ id }) => id))
    expect(acknowledged.filter(({ id }) => !storedIds.has(id))).toEqual([])
  })
})

const namesOfJoined = async (person: Person): Promise<string[]> =>
  (await person.get('/channels?scope=joined&members=false')).body.channels.map(({ name }: Channel) => name)

async function reader({ baseUrl }: Installation, email: string) {
  const reader = new ResumingReader(await Person.signIn(baseUrl, email), { ofAnyVersion: true })
  await reader.start()
  return reader
}

async function sender({ baseUrl }: Installation, email: string, channel: Channel) {
  const sender = new PersistentSender(await Person.signIn(baseUrl, email), channel)
  sender.start()
  return sender
}

/**
 * Waits until all acknowledged messages have reached everybody who listens to the previous version from the first
 * message on.
 */
const untilAllHeard = ([first]: ResumingReader[], senders: PersistentSender[]) =>
  first!.untilHeard(senders[0]!.channel.id, countAcknowledged(senders), 60_000)
