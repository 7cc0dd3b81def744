import { describe, expect, test } from 'vitest'
import { entryField, streamKey } from './keys.ts'
import { eventually, stage } from './stage.fixture.ts'

const { held, relay, feed, says, stepWithoutAppend, streamed, lease } = stage()

describe('the stream in Redis', () => {
  test('gets from the next leader what the one before had committed but not appended', async () => {
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
    relay({ events: { replaySeconds: 3_600, replayMaxEvents: 10 } })
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
    await held.raw.xadd(streamKey(before.epoch), '999-0', entryField, `${before.epoch} 999 1\n{"to":"nobody"}\t\t`)
    relay()

    await eventually(async () => expect((await lease()).epoch).not.toBe(before.epoch))
    await says('one')
    await eventually(async () => expect(await streamed()).toEqual(['one']))
    await eventually(() => expect(listener.epoch).not.toBe(before.epoch))
    expect(listener.resets).toEqual(['another epoch has begun'])
    await eventually(async () => expect(await held.raw.ttl(streamKey(before.epoch))).toBeGreaterThan(0))
  })
})
