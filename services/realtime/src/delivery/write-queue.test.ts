import { Socket } from 'node:net'
import { everyone, nobody, type Role } from '@parley/contract'
import type { PositionedEvent } from '@parley/events'
import { createMetrics } from '@parley/telemetry'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createOpenStreams } from '../streams/open-streams.ts'
import type { OpenStream } from '../streams/stream.ts'
import type { KnownAudience } from './entitlement.ts'
import { createWriteQueue } from './write-queue.ts'

const people = ['ann', 'bob', 'cat', 'guest']
const streamsEach = 30

class RecordingSocket extends Socket {
  readonly writes: string[] = []
  override write(bytes: unknown): boolean {
    this.writes.push(String(bytes))
    return true
  }
}

function openQueue() {
  const metrics = createMetrics({ service: 'test' })
  const follower = {
    userId: '',
    streams: new Set<OpenStream>(),
    channels: [],
    opening: 0,
    ready: Promise.resolve(),
    hasChanged: false,
  }
  const channels = { follower: () => undefined, dropIfUnused() {} }
  const limits = { maxStreams: 1e6, maxStreamsPerUser: 1e6, maxBufferBytes: 1e6 }
  const streams = createOpenStreams({ ...limits, metrics, channels, onCountChange() {} })
  const queue = createWriteQueue(streams)
  let position = 0

  function open(userId: string, isScoped = false) {
    const role: Role = userId === 'guest' ? 'guest' : 'member'
    const caller = { userId, sessionId: userId, userName: '', email: '', role, isAdmin: false }
    const socket = new RecordingSocket()
    const view = { follower: isScoped || role === 'guest' ? follower : null, watched: [], wantsPresence: true }
    const stream = streams.add(socket, caller, view)
    stream.isLive = true
    return { userId, socket, stream, expected: [] as string[] }
  }

  /** Adds an event, and returns its text. `onWritten` is called when it is written. */
  function add(audience: KnownAudience, onWritten = () => {}): string {
    const text = `event ${++position};`
    const event: PositionedEvent = {
      pos: position,
      routing: audience.to === 'everyone' ? everyone : nobody,
      trace: null,
      event: text,
    }
    queue.add([{ event, audience, streams: 0 }], 'epoch', onWritten)
    return text
  }

  return { queue, streams, open, add }
}

const textsOf = ({ writes }: RecordingSocket) => writes.join('').match(/event \d+;/g) ?? []

describe('the queue of streams to write to', () => {
  test('writes an event that is added meanwhile together with the one before, to streams that still wait', () => {
    const { queue, open, add } = openQueue()
    const opened = Array.from({ length: 100 }, () => open('ann'))
    const written: string[] = []
    add({ to: 'everyone' }, () => written.push('first'))
    queue.writeFor(0)
    const begun = opened.filter(({ socket }) => socket.writes.length === 1)
    expect(begun.length).toBeGreaterThan(0)
    expect(begun.length).toBeLessThan(opened.length)

    add({ to: 'everyone' }, () => written.push('second'))
    while (!queue.isEmpty()) {
      // The first event is complete before the streams that had it already get the second one.
      if (begun.some(({ socket }) => socket.writes.length === 2)) expect(written).toContain('first')
      queue.writeFor(0)
    }
    expect(written).toEqual(['first', 'second'])
    for (const each of opened) expect(each.socket.writes).toHaveLength(begun.includes(each) ? 2 : 1)
    for (const { socket } of opened) expect(textsOf(socket)).toEqual(['event 1;', 'event 2;'])
  })

  test('writes each event once and in order to the streams that were live when it was added', () => {
    const action = fc.oneof(
      fc.constant('write' as const),
      fc.constant('everyone' as const),
      fc.record({ open: fc.constantFrom(...people), isScoped: fc.boolean() }),
      fc.record({ end: fc.nat() }),
      fc.record({ to: fc.uniqueArray(fc.constantFrom(...people), { minLength: 1 }) }),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const { queue, streams, open, add } = openQueue()
        const opened = people.flatMap((userId) =>
          Array.from({ length: streamsEach }, (_, n) => open(userId, n % 3 === 0)),
        )
        const expectOf = (userIds: readonly string[], text: string) => {
          for (const each of opened) if (each.stream.isLive && userIds.includes(each.userId)) each.expected.push(text)
        }
        let added = 0
        let written = 0
        for (const each of actions) {
          if (each === 'write') queue.writeFor(0)
          else if (each === 'everyone')
            expectOf(
              people,
              add({ to: 'everyone' }, () => written++),
            )
          else if ('open' in each) opened.push(open(each.open, each.isScoped))
          else if ('end' in each) {
            const { socket, stream, expected } = opened[each.end % opened.length]!
            streams.end(stream, 'client')
            expected.splice(textsOf(socket).length)
          } else
            expectOf(
              each.to,
              add({ to: 'people', userIds: new Set(each.to) }, () => written++),
            )
          if (each === 'everyone' || (typeof each === 'object' && 'to' in each)) added++
        }
        while (!queue.isEmpty()) queue.writeFor(0)
        expect(opened.map(({ socket }) => textsOf(socket))).toEqual(opened.map(({ expected }) => expected))
        expect(written).toBe(added)
        for (const { stream } of opened) streams.end(stream, 'client')
      }),
    )
  })
})
