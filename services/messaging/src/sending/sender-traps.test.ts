import type { Message } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { losingProxy } from './losing-proxy.testing.ts'
import { runSend } from './send-batch.ts'
import { sendWaiting, sendWithoutWaiting } from './send-statement.ts'
import { type Person, says, sendingEnvironment } from './sending.testing.ts'
import { toSending } from './sending.ts'

const environment = sendingEnvironment()
const parsed = async (text: Promise<string>): Promise<Message> => JSON.parse(await text)
const contents = async (channel: string) =>
  (await environment.stored(channel)).map(({ seq, content }) => [seq, content])
const sending = (person: Person, channel: string, content: string) =>
  toSending(says(person, channel, content), {
    createdAt: Date.now(),
    deadline: Date.now() + 10_000,
    resolve() {},
    reject() {},
  })

describe('trap: membership changes while the statement waits for the channel', () => {
  test('the new membership decides on the send, and seq has no gap', async () => {
    const ann = await environment.person('ann')
    const bob = await environment.person('bob')
    const channel = await environment.channel('private', ann, bob)
    const sender = environment.process()
    const lock = await environment.lock(channel)
    const bobs = sender.send(says(bob, channel, 'from bob'))
    const anns = sender.send(says(ann, channel, 'from ann'))
    const refused = expect(bobs).rejects.toMatchObject({ status: 403 })
    await environment.untilWaiting(1)
    await lock.query('delete from channel_members where channel_id = $1 and user_id = $2', [channel, bob.userId])
    await lock.query('update channels set members_version = members_version + 1 where id = $1', [channel])
    await lock.release()

    await refused
    const message = await parsed(anns)
    expect(await contents(channel)).toEqual([[1, 'from ann']])
    expect(await environment.lastSeq(channel)).toBe(1)
    expect((await environment.recorded(message.id)).routing).toMatchObject({ version: 2 })
  })

  test('a send to a public channel is stored without a retry, because joining and leaving change no rights there', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const lock = await environment.lock(channel)
    const own = sending(ann, channel, 'not delayed')
    const rows = runSend(environment.connection().pool, [own], sendWaiting, Date.now())
    await environment.untilWaiting(1)
    await lock.query('update channels set members_version = members_version + 1 where id = $1', [channel])
    await lock.release()

    expect((await rows).map(([, outcome]) => outcome)).toEqual(['stored'])
    expect((await environment.recorded(own.id)).routing).toMatchObject({ version: 2 })
  })

  test('a send to a channel that became private meanwhile is retried', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const lock = await environment.lock(channel)
    const rows = runSend(environment.connection().pool, [sending(ann, channel, 'x')], sendWaiting, Date.now())
    await environment.untilWaiting(1)
    await lock.query("update channels set kind = 'private', members_version = members_version + 1 where id = $1", [
      channel,
    ])
    await lock.release()

    expect((await rows).map(([, outcome]) => outcome)).toEqual(['moved'])
    expect(await contents(channel)).toEqual([])
  })

  test('a send to a channel that was deleted meanwhile is refused', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const lock = await environment.lock(channel)
    const refused = expect(sender.send(says(ann, channel, 'too late'))).rejects.toMatchObject({ status: 404 })
    await environment.untilWaiting(1)
    await lock.query('update channels set deleted_at = 1 where id = $1', [channel])
    await lock.release()
    await refused
    expect(await contents(channel)).toEqual([])
  })
})

describe('trap: deadlocks', () => {
  test('statements of two processes over the same channels lock them in the same order', async () => {
    const ann = await environment.person('ann')
    const channels = await Promise.all(Array.from({ length: 8 }, () => environment.channel('public', ann)))
    const pools = [environment.connection().pool, environment.connection().pool]
    const rounds = 40
    const run = async (index: number) => {
      for (let round = 0; round < rounds; round++) {
        const order = index === 0 ? channels : channels.toReversed()
        const batch = order.map((channel) => sending(ann, channel, 'x'))
        const rows = await runSend(pools[index]!, batch, sendWaiting, Date.now())
        expect(rows.map(([, outcome]) => outcome)).toEqual(channels.map(() => 'stored'))
      }
    }
    await Promise.all([run(0), run(1), run(0), run(1)])
    for (const channel of channels) expect(await environment.lastSeq(channel)).toBe(4 * rounds)
  })
})

describe('trap: idempotency keys', () => {
  const key = (text: string, requestHash = 'aa'.repeat(32)) => ({ idempotency: { key: text, requestHash } })

  test('a repeated request gets the first answer byte for byte, from any process, and leaves no gap', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const [one, two] = [environment.process(), environment.process()]
    const first = await one.send(says(ann, channel, 'once', key('k')))
    const again = await Promise.all([
      one.send(says(ann, channel, 'once', key('k'))),
      one.send(says(ann, channel, 'neighbour')),
      two.send(says(ann, channel, 'once', key('k'))),
    ])
    expect([again[0], again[2]]).toEqual([first, first])
    expect(await contents(channel)).toEqual([
      [1, 'once'],
      [2, 'neighbour'],
    ])
    expect(await environment.lastSeq(channel)).toBe(2)
  })

  test('another request with the key is refused, but another caller may use the same key', async () => {
    const ann = await environment.person('ann')
    const bob = await environment.person('bob')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    await sender.send(says(ann, channel, 'one', key('k')))
    await expect(sender.send(says(ann, channel, 'two', key('k', 'bb'.repeat(32))))).rejects.toMatchObject({
      status: 400,
      code: 'idempotency_key_reused',
    })
    expect(await parsed(sender.send(says(bob, channel, 'three', key('k'))))).toMatchObject({ seq: 2 })
  })

  test('a refused request does not use up its key', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('private')
    const sender = environment.process()
    await expect(sender.send(says(ann, channel, 'x', key('k')))).rejects.toMatchObject({ status: 403 })
    await environment.db.db
      .insertInto('channelMembers')
      .values({ channelId: channel, userId: ann.userId, joinedAt: 1 })
      .execute()
    expect(await parsed(sender.send(says(ann, channel, 'x', key('k'))))).toMatchObject({ seq: 1 })
  })

  test('while the first request runs, a second one gets 409 in the same process', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const lock = await environment.lock(channel)
    const sender = environment.process()
    const first = sender.send(says(ann, channel, 'once', key('k')))
    await environment.untilWaiting(1)
    await expect(sender.send(says(ann, channel, 'once', key('k')))).rejects.toMatchObject({ status: 409 })
    await lock.release()
    expect(await parsed(first)).toMatchObject({ seq: 1 })
  })

  test('while the first request runs, a second one gets 409 in another process', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const lock = await environment.lock(channel)
    const first = environment.process().send(says(ann, channel, 'once', key('k')))
    await environment.untilWaiting(1)
    await expect(environment.process().send(says(ann, channel, 'once', key('k')))).rejects.toMatchObject({
      status: 409,
    })
    await lock.release()
    expect(await parsed(first)).toMatchObject({ seq: 1 })
  })

  test('several repeated requests at the same time all get the first answer', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const first = await sender.send(says(ann, channel, 'once', key('k')))
    const repeats = Array.from({ length: 5 }, () => sender.send(says(ann, channel, 'once', key('k'))))
    expect(await Promise.all(repeats)).toEqual(Array(5).fill(first))

    const [repeat, other] = await Promise.allSettled([
      sender.send(says(ann, channel, 'once', key('k'))),
      sender.send(says(ann, channel, 'twice', key('k', 'ff'.repeat(32)))),
    ])
    expect(repeat).toMatchObject({ status: 'fulfilled', value: first })
    expect(other).toMatchObject({ status: 'rejected', reason: { status: 400 } })
  })

  test('several processes that use the same keys at the same time store each message once, without gaps', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const processes = [environment.process(), environment.process(), environment.process()]
    const persistently = async (process: (typeof processes)[number], name: string): Promise<string> => {
      for (;;) {
        try {
          return await process.send(says(ann, channel, name, key(name)))
        } catch (error) {
          if ((error as { status?: number }).status !== 409) throw error
        }
      }
    }
    const names = Array.from({ length: 30 }, (_, i) => `key ${i}`)
    const answers = await Promise.all(
      processes.map((process) => Promise.all(names.map((name) => persistently(process, name)))),
    )
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
    expect((await contents(channel)).map(([seq]) => seq)).toEqual(names.map((_, i) => i + 1))
    expect(await environment.lastSeq(channel)).toBe(names.length)
  })

  test('a key can be used again after 24 hours', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const first = await parsed(sender.send(says(ann, channel, 'x', key('k'))))
    await environment.db.db
      .updateTable('idempotencyKeys')
      .set({ createdAt: Date.now() - 24 * 3_600_000 })
      .where('userId', '=', ann.userId)
      .execute()
    const second = await sender.send(says(ann, channel, 'y', key('k', 'bb'.repeat(32))))
    expect(JSON.parse(second)).toMatchObject({ seq: 2, content: 'y' })
    expect(JSON.parse(second).id).not.toBe(first.id)
    expect(await sender.send(says(ann, channel, 'y', key('k', 'bb'.repeat(32))))).toBe(second)
  })
})

describe('trap: the connection is lost before the commit is answered', () => {
  test('the stored messages of the batch are answered and not stored again', async () => {
    const ann = await environment.person('ann')
    const channels = await Promise.all([
      environment.channel('public', ann),
      environment.channel('public', ann),
      environment.channel('public', ann),
    ])
    const proxy = await losingProxy(environment.db.urlOf('messaging'))
    const { pool, close } = environment.connection(proxy.url)
    const sender = environment.process({ pool })
    await Promise.all(channels.map((channel) => sender.send(says(ann, channel, 'before'))))

    const lost = proxy.loseAnswer((toServer) => toServer.includes('answer is lost'))
    const sent = Promise.all(
      channels.flatMap((channel) =>
        ['answer is lost', 'too'].map((text) => parsed(sender.send(says(ann, channel, text)))),
      ),
    )
    await lost
    const messages = await sent
    expect(messages.map(({ seq }) => seq)).toEqual([2, 3, 2, 3, 2, 3])
    for (const channel of channels) {
      const rows = await environment.stored(channel)
      expect(rows.map(({ seq, content }) => [seq, content])).toEqual([
        [1, 'before'],
        [2, 'answer is lost'],
        [3, 'too'],
      ])
      expect(messages.filter(({ channelId }) => channelId === channel).map(({ id }) => id)).toEqual(
        rows.slice(1).map(({ id }) => id),
      )
      expect(await environment.lastSeq(channel)).toBe(3)
    }
    for (const message of messages) expect((await environment.recorded(message.id)).event.payload).toEqual(message)
    await close()
    await proxy.close()
  })

  test('a statement that still runs after its connection was lost stores nothing twice', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const proxy = await losingProxy(environment.db.urlOf('messaging'))
    const { pool, close } = environment.connection(proxy.url)
    const sender = environment.process({ pool })
    const lock = await environment.lock(channel)
    const sent = [
      sender.send(says(ann, channel, 'plain')),
      sender.send(says(ann, channel, 'with key', { idempotency: { key: 'k', requestHash: 'aa' } })),
    ]
    await environment.untilWaiting(1)
    proxy.cut()
    await environment.untilWaiting(2)
    await lock.release()

    const messages = await Promise.all(sent.map(parsed))
    expect(messages.map(({ seq, content }) => [seq, content])).toEqual(await contents(channel))
    expect(messages.map(({ id }) => id)).toEqual((await environment.stored(channel)).map(({ id }) => id))
    expect(await environment.lastSeq(channel)).toBe(2)
    await close()
    await proxy.close()
  })

  test('when the server closes connections under load, they are replaced and everything is stored once', async () => {
    const ann = await environment.person('ann')
    const channels = await Promise.all(Array.from({ length: 5 }, () => environment.channel('public', ann)))
    const { pool } = environment.connection()
    const sender = environment.process({ pool })
    let sending = true
    const sent: Message[] = []
    const people = Array.from({ length: 20 }, async (_, i) => {
      for (let round = 0; sending || round < 10; round++) {
        sent.push(await parsed(sender.send(says(ann, channels[(i + round) % 5]!, `${i}/${round}`))))
      }
    })
    for (let kills = 0; kills < 10; kills++) {
      const { rows } = await environment.db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and query like '%asked as materialized%'`,
      )
      if (rows.length === 0) kills--
    }
    sending = false
    await Promise.all(people)
    const all = (await Promise.all(channels.map(environment.stored))).flat()
    expect(all.map(({ id }) => id).sort()).toEqual(sent.map(({ id }) => id).sort())
    for (const channel of channels) {
      const rows = await environment.stored(channel)
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1))
      expect(await environment.lastSeq(channel)).toBe(rows.length)
    }
  })

  test('when the database does not answer, the response is 503 with Retry-After', async () => {
    const ann = await environment.person('ann')
    const proxy = await losingProxy(environment.db.urlOf('messaging'))
    await proxy.close()
    const { pool, close } = environment.connection(proxy.url)
    const sender = environment.process({ pool, deadlineMs: 300 })
    const channels = await Promise.all(Array.from({ length: 20 }, () => environment.channel('public', ann)))
    const outcomes = await Promise.allSettled(
      Array.from({ length: 600 }, (_, n) => sender.send(says(ann, channels[n % 20]!, 'x'))),
    )
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { status: 503, retryAfter: expect.any(Number) } })
    }
    await close()
  })
})

describe('trap: one busy channel', () => {
  test('does not delay the others, and its own sends are stored together once it is unlocked', async () => {
    const ann = await environment.person('ann')
    const busy = await environment.channel('public', ann)
    const others = await Promise.all(Array.from({ length: 10 }, () => environment.channel('public', ann)))
    const sender = environment.process()
    const lock = await environment.lock(busy)
    const waiting = Array.from({ length: 10 }, (_, i) => sender.send(says(ann, busy, `${i}`)))
    for (const channel of others) await sender.send(says(ann, channel, 'meanwhile'))
    await environment.untilWaiting(1)
    const later = Array.from({ length: 10 }, (_, i) => sender.send(says(ann, busy, `${10 + i}`)))
    for (const channel of others) await sender.send(says(ann, channel, 'meanwhile'))
    await lock.release()
    const messages = await Promise.all([...waiting, ...later].map(parsed))
    expect(messages.map(({ seq, content }) => [seq, content])).toEqual(
      Array.from({ length: 20 }, (_, i) => [i + 1, `${i}`]),
    )
  })

  test('many busy channels leave connections of the pool free, and all are served in the end', async () => {
    const ann = await environment.person('ann')
    const busy = await Promise.all(Array.from({ length: 8 }, () => environment.channel('public', ann)))
    const free = await environment.channel('public', ann)
    const sender = environment.process()
    const locks = await Promise.all(busy.map(environment.lock))
    const sent = busy.map((channel) => parsed(sender.send(says(ann, channel, 'waited'))))
    await environment.untilWaiting(4)
    expect(await parsed(sender.send(says(ann, free, 'meanwhile')))).toMatchObject({ seq: 1 })
    // The channels for which a connection waits stay locked. The others are served by retries, without a waiting connection.
    const waitedFor = await environment.db.pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    expect(waitedFor.rows[0]!.count).toBe(4)
    for (const lock of locks.toReversed()) await lock.release()
    for (const message of await Promise.all(sent)) expect(message).toMatchObject({ seq: 1, content: 'waited' })
  })

  test('a pool that is too small for waiting statements serves the channel too', async () => {
    const ann = await environment.person('ann')
    const [busy, free] = [await environment.channel('public', ann), await environment.channel('public', ann)]
    const sender = environment.process({ pool: environment.connection(environment.db.urlOf('messaging'), 1).pool })
    const lock = await environment.lock(busy)
    const waited = parsed(sender.send(says(ann, busy, 'waited')))
    expect(await parsed(sender.send(says(ann, free, 'meanwhile')))).toMatchObject({ seq: 1 })
    await lock.release()
    expect(await waited).toMatchObject({ seq: 1, content: 'waited' })
  })

  test('the statement that does not wait changes nothing in a locked channel', async () => {
    const ann = await environment.person('ann')
    const [busy, free] = [await environment.channel('public', ann), await environment.channel('public', ann)]
    const lock = await environment.lock(busy)
    const batch = [sending(ann, busy, 'x'), sending(ann, free, 'y')]
    const rows = await runSend(environment.connection().pool, batch, sendWithoutWaiting, Date.now())
    expect(rows.map(([n, outcome]) => [n, outcome]).sort()).toEqual([
      [1, 'busy'],
      [2, 'stored'],
    ])
    await lock.release()
    expect([await environment.lastSeq(busy), await environment.lastSeq(free)]).toEqual([0, 1])
  })
})
