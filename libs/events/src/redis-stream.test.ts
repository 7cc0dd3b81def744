import { once } from 'node:events'
import { connectRedis, redisNames } from '@parley/redis'
import { describe, expect, test, vi } from 'vitest'
import { deliveryEnvironment, eventually } from './delivery.testing.ts'
import { entryField, openRedisStreamWriter } from './redis-stream.ts'

const { held, relay, feed, says, stepWithoutAppend, streamed, lease, logger, onEnd } = deliveryEnvironment()

describe('the stream in Redis', () => {
  test('gets from the next leader the events that the previous one committed but did not append', async () => {
    const listener = await feed()
    await says('one', 'two')
    await stepWithoutAppend()
    relay()
    await says('three')

    await eventually(async () => expect(await streamed()).toEqual(['one', 'two', 'three']))
    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
  })

  test('is appended again when Redis comes back empty', async () => {
    relay()
    const listener = await feed()
    await says('one', 'two')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two']))

    held.redis.kill('SIGKILL')
    await says('three')
    await held.redis.restart()

    await eventually(async () => expect(await streamed()).toEqual(['one', 'two', 'three']))
    await says('four')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three', 'four']))
    expect(listener.resets).toEqual([])
  })

  test('is appended again when it was emptied under a running relay', async () => {
    relay()
    const listener = await feed()
    await says('one')
    await eventually(() => expect(listener.names()).toEqual(['one']))
    await held.raw.flushall()
    await says('two')
    await eventually(async () => expect(await streamed()).toEqual(['one', 'two']))
    expect(listener.resets).toEqual([])
  })

  test('does not reach further back than the largest number of events', async () => {
    relay({ events: { replaySeconds: 3_600, replayMaxEvents: 10, consumerDays: 7 } })
    for (let n = 0; n < 6; n++) {
      await says(...Array.from({ length: 5 }, (_, i) => `${n}/${i}`))
      await eventually(async () => expect(await lease()).toMatchObject({ pos: 5 * (n + 1) }))
    }
    await held.raw.flushall()
    await says('last')
    await eventually(async () => expect((await streamed()).at(-1)).toBe('last'))
    expect((await streamed()).length).toBeLessThanOrEqual(11)
  })

  test('ahead of PostgreSQL is left to itself: a new epoch begins', async () => {
    const before = await lease()
    const listener = await feed()
    await held.raw.xadd(
      redisNames().stream(before.epoch),
      '999-0',
      entryField,
      `${before.epoch} 999 1\n{"to":"nobody"}\t\t`,
    )
    relay()

    await eventually(async () => expect((await lease()).epoch).not.toBe(before.epoch))
    await says('one')
    await eventually(async () => expect(await streamed()).toEqual(['one']))
    await eventually(() => expect(listener.epoch).not.toBe(before.epoch))
    expect(listener.resets).toEqual(['another epoch has begun'])
    await eventually(async () => expect(await held.raw.ttl(redisNames().stream(before.epoch))).toBeGreaterThan(0))
  })

  test('is not ahead for a leader that reads Redis before its first step', async () => {
    const first = relay()
    await says('one', 'two')
    await eventually(async () => expect(await streamed()).toEqual(['one', 'two']))
    await first.stop()

    const begun = await lease()
    const redis = connect()
    const stream = openStream(redis, begun)
    await once(redis, 'ready')
    await stream.close()
    expect(stream.isAhead).toBe(false)
  })

  test('is ahead although the first step assigns more positions than Redis has of a lost history', async () => {
    const { epoch } = await lease()
    const lost = `${epoch} 1 2\n{"to":"nobody"}\t\t\n{"to":"nobody"}\t\t`
    await held.raw.xadd(redisNames().stream(epoch), '2-0', entryField, lost)
    const redis = connect()
    await once(redis, 'ready')
    const stream = openStream(redis, await lease())

    await says('one', 'two', 'three')
    stream.offer(3, await stepWithoutAppend())
    await stream.close()
    expect(stream.isAhead).toBe(true)
  })

  test('is appended to again a second after Redis has refused it, and the refusal is reported once', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    onEnd(() => now.mockRestore())
    const { stream, refusals } = await openRefused(1)

    const attempts = await countAppends()
    for (let n = 0; n < 50; n++) {
      stream.offer(1)
      await held.raw.ping()
    }
    expect(await countAppends()).toBe(attempts)

    now.mockReturnValue(1_000)
    stream.offer(1)
    await eventually(async () => expect(await countAppends()).toBe(attempts + 1))
    await freeMemory()
    now.mockReturnValue(2_000)
    await eventually(async () => {
      stream.offer(1)
      expect(await streamed()).toEqual(['one'])
    })
    expect(refusals).toHaveLength(1)
    await stream.close()
  })

  test('loses its oldest events while the memory of Redis is full, so that it can be appended to again', async () => {
    const { epoch } = await lease()
    const key = redisNames().stream(epoch)
    const line = `{"to":"nobody"}\t\t${'x'.repeat(1_000)}`
    for (let n = 1; n <= 100; n++) await held.raw.xadd(key, `${n}-0`, entryField, `${epoch} ${n} 1\n${line}`)
    await held.database.pool.query('update relay_lease set pos = 100, low_pos = 100')
    const { stream } = await openRefused(101)
    stream.trim(90)
    await eventually(async () => expect(await held.raw.xlen(key)).toBeLessThan(20))
    await stream.close()
  })

  /** Opens a stream whose first batch, with the event at `pos`, Redis refuses because its memory is full. */
  async function openRefused(pos: number) {
    const redis = connect()
    await once(redis, 'ready')
    const refusals: unknown[] = []
    const stream = openStream(redis, await lease(), (error) => refusals.push(error))
    await fillMemory()
    await says('one')
    stream.offer(pos, await stepWithoutAppend())
    await eventually(() => expect(refusals).toMatchObject([{ message: expect.stringContaining('OOM') }]))
    return { stream, refusals }
  }

  /** Lets Redis refuse everything that needs memory, until `freeMemory` or the end of the test. */
  async function fillMemory() {
    await held.raw.config('SET', 'maxmemory', '1')
    onEnd(freeMemory)
  }

  const freeMemory = () => held.raw.config('SET', 'maxmemory', '0')

  /** How often Redis was asked to append. */
  async function countAppends(): Promise<number> {
    const statistics = await held.raw.info('commandstats')
    const counts = statistics.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+).*rejected_calls=(\d+)/gm)
    return [...counts].reduce((sum, [, calls, rejected]) => sum + Number(calls) + Number(rejected), 0)
  }

  function connect() {
    const redis = connectRedis({ settings: { url: held.redis.url }, name: 'test', logger })
    onEnd(() => redis.disconnect())
    return redis
  }

  /** Opens the stream as a new leader does. */
  const openStream = (
    redis: ReturnType<typeof connect>,
    { epoch, pos }: Awaited<ReturnType<typeof lease>>,
    onError: (error: unknown) => void = (error) => expect.fail(String(error)),
  ) =>
    openRedisStreamWriter({
      redis,
      names: redisNames(),
      pool: held.database.pool,
      epoch,
      pos,
      maxEvents: 1_000,
      onError,
    })
})
