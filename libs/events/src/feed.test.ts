import { describe, expect, test } from 'vitest'
import { eventually, stage } from './stage.fixture.ts'

describe('an event that was committed', () => {
  const { relay, feed, says } = stage()

  test('reaches a feed once, with its position', async () => {
    relay()
    const listener = await feed()
    await says('one', 'two')
    await says('three')

    await eventually(() => expect(listener.names()).toEqual(['one', 'two', 'three']))
    expect(listener.events.map(({ pos }) => pos)).toEqual([1, 2, 3])
    expect(listener.events[0]).toMatchObject({ routing: { to: 'everyone' }, trace: null })
    expect(await listener.read(0, 10)).toEqual(listener.events)
  })
})
