import { redisNames } from '@parley/redis'
import { createLogger } from '@parley/telemetry'
import { describe, expect, test, vi } from 'vitest'
import { encodeBatch } from './batch.ts'
import { deliveryEnvironment, eventually } from './delivery.testing.ts'
import { createWaker } from './index.ts'
import { entryField } from './redis-stream.ts'

const { held, relay, feed, says, stepWithoutAppend, lease, onEnd } = deliveryEnvironment()

describe('a feed', () => {
  test('hands on every event once, with its position', async () => {
    relay()
    const listener = await feed()
    await says('one', 'two')
    await says('three')

    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
    expect(listener.events.map(({ pos }) => pos)).toEqual([1, 2, 3])
    expect(listener.events[0]).toMatchObject({ routing: { to: 'everyone' }, trace: null })
    expect(await listener.read(0, 10)).toEqual(listener.events)
    expect(await listener.read(1, 1)).toEqual([listener.events[1]])
    expect(await listener.read(3, 10)).toEqual([])
    expect(await listener.read(4, 10)).toBe('gone')
  })

  test('gets the trace of an event', async () => {
    const listener = await feed()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await says('traced')
    await held.database.pool.query('update outbox set trace = $1', [traceparent])
    await says('untraced')
    relay()
    await eventually(() => expect(listener.names()).toEqual(['traced', 'untraced']))
    expect(listener.events[0]!.trace).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/)
    expect(listener.events[1]!.trace).toBeNull()
  })

  test('begins after the last position, and reads earlier events on request', async () => {
    await says('before')
    await stepWithoutAppend()
    relay()
    const listener = await feed()
    expect(listener.position).toBe(1)
    await says('after')
    await eventually(() => expect(listener.names()).toEqual(['after']))
    expect(await listener.read(0, 10)).toMatchObject([{ pos: 1 }, { pos: 2 }])
  })

  test('logs once that PostgreSQL is away, however often it tries again, and continues afterwards', async () => {
    const lines: string[] = []
    const logger = createLogger({ service: 'test', level: 'warn', destination: { write: (line) => lines.push(line) } })
    relay()
    const listener = await feed({ logger })
    const refusal = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const query = vi.spyOn(held.database.as('realtime').pool, 'query').mockImplementation(() => Promise.reject(refusal))
    onEnd(() => query.mockRestore())
    await eventually(() => expect(query.mock.calls.length).toBeGreaterThan(3))
    query.mockRestore()
    await says('afterwards')
    await eventually(() => expect(listener.names()).toEqual(['afterwards']))
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['the feed cannot continue, it will try again'])
  })

  test('waits with the next events until the previous ones are handled', async () => {
    relay()
    const gate = Promise.withResolvers<void>()
    const handed: number[][] = []
    const listener = await feed({
      async onEvents(events) {
        handed.push(events.map(({ pos }) => pos))
        await gate.promise
      },
    })
    await says('one')
    await eventually(() => expect(handed).toEqual([[1]]))
    expect(listener.position).toBe(0)
    await says('two')
    await eventually(async () => expect(await lease()).toMatchObject({ pos: 2 }))
    expect(handed).toEqual([[1]])
    gate.resolve()
    await eventually(() => expect(listener.position).toBe(2))
    expect(handed).toEqual([[1], [2]])
  })

  test('continues after its subscription was closed', async () => {
    relay()
    const listener = await feed()
    await says('one')
    await eventually(() => expect(listener.names()).toEqual(['one']))
    await held.raw.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await says('two')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two']))
    expect(listener.resets).toEqual([])
  })

  test('finds events that were appended but never published', async () => {
    const listener = await feed()
    await says('silent')
    const { epoch } = await lease()
    const batch = await stepWithoutAppend()
    await held.raw.xadd(redisNames().stream(epoch), '1-0', entryField, encodeBatch(epoch, batch))
    await eventually(() => expect(listener.names()).toEqual(['silent']))
  })

  test('fills a hole before it passes on later events, from PostgreSQL when the stream was trimmed', async () => {
    const listener = await feed()
    const { epoch } = await lease()
    await says('one')
    await says('two')
    await stepWithoutAppend()
    await says('three')
    const batch = await stepWithoutAppend()
    await held.raw.xadd(redisNames().stream(epoch), '3-0', entryField, encodeBatch(epoch, batch))
    await held.raw.publish(redisNames().events, encodeBatch(epoch, batch))
    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
    expect(listener.resets).toEqual([])
  })

  test('reads events from PostgreSQL that are malformed in Redis', async () => {
    const listener = await feed()
    const { epoch } = await lease()
    await says('one')
    await stepWithoutAppend()
    await held.raw.xadd(redisNames().stream(epoch), '1-0', 'another field', 'garbage')
    await held.raw.publish(redisNames().events, 'garbage')
    await eventually(() => expect(listener.names()).toEqual(['one']))
    expect(await listener.read(0, 1)).toHaveLength(1)
    expect(listener.resets).toEqual([])
  })

  test('drops known events and accepts the rest of an overlapping batch', async () => {
    const listener = await feed()
    const { epoch } = await lease()
    const line = (name: string) => `{"to":"everyone"}\t\t{"payload":{"name":"${name}"}}`
    const publish = (first: number, ...names: string[]) =>
      held.raw.publish(
        redisNames().events,
        encodeBatch(epoch, { first, count: names.length, lines: names.map(line).join('\n') }),
      )
    // The events have their positions in PostgreSQL: the feed may read it at any moment, and must find the published
    // events there.
    await says('one', 'two', 'three')
    await stepWithoutAppend()
    await publish(1, 'one', 'two')
    await publish(1, 'one', 'two')
    await publish(2, 'two', 'three')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
  })

  test('continues from PostgreSQL while Redis is unavailable', async () => {
    relay()
    const listener = await feed()
    await says('one')
    await eventually(() => expect(listener.names()).toEqual(['one']))
    held.redis.kill('SIGKILL')
    await says('two')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two']))
    await held.redis.restart()
    await says('three')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
    expect(listener.resets).toEqual([])
  })

  test('starts again when a hole cannot be filled', async () => {
    const listener = await feed()
    const { epoch } = await lease()
    // No event ever had these positions: the feed may read PostgreSQL at any moment, and would find events that are
    // deleted later.
    await held.database.pool.query('update relay_lease set pos = 2')
    await held.raw.publish(
      redisNames().events,
      encodeBatch(epoch, { first: 2, count: 1, lines: '{"to":"nobody"}\t\t' }),
    )
    await eventually(() => expect(listener.resets).toEqual(['events are missing that nobody has any more']))
    expect(listener.position).toBe(2)
    expect(await listener.read(0, 1)).toBe('gone')
  })

  test('resets, and loses no events, when its listener fails', async () => {
    relay()
    let failures = 1
    const listener = await feed({
      onEvents() {
        if (failures-- > 0) throw new Error('cannot')
      },
    })
    await says('one')
    await eventually(() => expect(listener.position).toBe(1))
    expect(listener.resets).toEqual(['events could not be delivered'])
    expect(await listener.read(0, 1)).toHaveLength(1)
  })
})

describe('a waker', () => {
  test('sends the first hint at once and the next ones together', async () => {
    const waker = createWaker({ url: held.redis.url })
    onEnd(waker.close)
    const hints = held.raw.duplicate()
    onEnd(() => hints.disconnect())
    let heard = 0
    hints.on('message', () => heard++)
    await hints.subscribe('parley:{wake}')
    await eventually(() => {
      waker.wake()
      expect(heard).toBeGreaterThan(0)
    })
    // Redis counts the published messages, also those that the listener has not received yet.
    const sent = async () => Number(/cmdstat_s?publish:calls=(\d+)/.exec(await held.raw.info('commandstats'))?.[1])
    const before = await sent()
    for (let n = 0; n < 100; n++) waker.wake()
    await eventually(async () => expect(await sent()).toBeGreaterThan(before))
    // At most three: one that was due, one immediately, and one for all others.
    expect((await sent()) - before).toBeLessThanOrEqual(3)
  })
})
