import type { Channel } from '@parley/contract'
import { Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'
import { signal } from '../src/processes.ts'
import { countAcknowledged, PersistentSender, untilAcknowledged } from './persistent-sender.ts'
import { ResumingReader } from './resuming-reader.ts'

/** The timeout for the recovery after one fault. It is not a performance goal. */
const recoveryPatienceMs = 30_000
/** The number of acknowledged messages between two faults, so that each fault hits running sends. */
const betweenFaults = 100

describe('under a stream of sends', () => {
  let installation: Installation
  const senders: PersistentSender[] = []
  const readers: ResumingReader[] = []
  const channels: Record<'open' | 'secret', Channel> = {} as never
  let ann: Person
  let outsider: ResumingReader
  const summary: string[] = []

  beforeAll(async () => {
    installation = await launch('cluster', { replicas: 2 })
    const signIn = (name: string) => Person.signIn(installation.baseUrl, `${name}@example.com`)
    ann = await signIn('ann')
    const members = await Promise.all(['bob', 'cal', 'dan'].map(signIn))
    channels.open = await ann.creates({ name: 'open' })
    channels.secret = await ann.creates({ name: 'secret', isPrivate: true, members: members.map(({ id }) => id) })
    for (const person of [ann, ...members]) readers.push(new ResumingReader(person))
    outsider = new ResumingReader(await signIn('eve'))
    await Promise.all([...readers, outsider].map((reader) => reader.start()))
    for (const person of [ann, ...members]) {
      for (const channel of [channels.open, channels.secret, channels.open, channels.secret]) {
        senders.push(new PersistentSender(person, channel))
      }
    }
  })

  afterAll(async () => {
    await Promise.all([...senders, ...readers, ...(outsider ? [outsider] : [])].map((each) => each.stop()))
    await installation?.discard()
  })

  test('every kill leaves each acknowledged message stored once and heard once, in order', {
    timeout: 180_000,
  }, async () => {
    for (const sender of senders) sender.start()
    await untilMore(betweenFaults)

    await fault('a messaging process', () => installation.kill('messaging', 'SIGKILL'))
    await fault('a realtime process', () => installation.kill('realtime', 'SIGKILL'))
    await fault('the other realtime process', () => installation.kill('realtime', 'SIGKILL', 1))
    // One of the two workers leads the relay. If it was the first one, the second one has taken over and leads now.
    await fault('a worker', () => installation.kill('worker', 'SIGKILL'))
    await fault('the other worker', () => installation.kill('worker', 'SIGKILL', 1))
    // A leader that was frozen until after the end of its lease must not continue when it wakes up.
    for (const which of [0, 1]) {
      const pid = await installation.kill('worker', 'SIGSTOP', which)
      await fault(`worker ${which + 1}, frozen`, async () => {})
      signal(pid, 'SIGCONT')
      await fault(`worker ${which + 1}, awake again`, async () => {})
    }
    await fault('Redis', () => installation.kill('redis-server', 'SIGKILL'))
    await fault('a gateway', () => installation.kill('gateway', 'SIGKILL'))
    await fault('PostgreSQL', () => installation.kill('postgres', 'SIGKILL'))
    await fault('Redis and PostgreSQL', async () => {
      await installation.kill('redis-server', 'SIGKILL')
      await installation.kill('postgres', 'SIGKILL')
    })
    await fault('one of everything', async () => {
      for (const name of ['gateway', 'worker', 'realtime', 'messaging']) await installation.kill(name, 'SIGKILL')
    })

    await Promise.all(senders.map((sender) => sender.stop()))
    await untilHeard()
    process.stdout.write(`${report()}\n`)

    expect(senders.flatMap(({ faults }) => faults)).toEqual([])
    expect([...readers, outsider].flatMap(({ faults }) => faults)).toEqual([])
    for (const channel of Object.values(channels)) await verify(channel)
    expect(outsider.count(channels.secret.id)).toBe(0)
    expect(outsider.heard.get(channels.open.id)!.map(({ seq }) => seq)).toEqual(numbersTo(sentTo(channels.open).length))
    expect(Math.min(...readers.map(({ reconnections }) => reconnections))).toBeGreaterThan(0)
    expect(senders.some(({ repetitions }) => repetitions.size > 0)).toBe(true)
  })

  const sentTo = ({ id }: Channel) =>
    senders.filter(({ channel }) => channel.id === id).flatMap((sender) => sender.acknowledged)

  /** Checks that the acknowledged messages, the stored messages and those of each reader are the same. */
  async function verify(channel: Channel) {
    const sent = sentTo(channel).toSorted((a, b) => a.seq - b.seq)
    const stored = await ann.readsAll(`/channels/${channel.id}/messages`)
    expect(stored.map(({ seq }) => seq)).toEqual(numbersTo(sent.length))
    expect(stored).toEqual(sent)
    expect(new Set(stored.map(({ content }) => content)).size).toBe(stored.length)
    for (const reader of readers) expect(reader.heard.get(channel.id), reader.name).toEqual(sent)
  }

  /** Causes a fault, and waits until sends are acknowledged again and all readers have the earlier messages. */
  async function fault(name: string, happen: () => Promise<unknown>) {
    const begun = performance.now()
    const since = () => `${Math.round(performance.now() - begun)} ms`
    await happen()
    await untilMore(1)
    const sending = since()
    await untilMore(betweenFaults)
    await untilHeard().catch((error: Error) => {
      throw new Error(`after ${name}: ${error.message}\n${installation.output}`)
    })
    summary.push(`  ${name.padEnd(28)} sends go on after ${sending}, all heard after ${since()}`)
  }

  async function untilHeard() {
    const counts = Object.values(channels).map((channel) => [channel.id, sentTo(channel).length] as const)
    await Promise.all(
      counts.flatMap(([id, count]) => readers.map((reader) => reader.untilHeard(id, count, recoveryPatienceMs))),
    )
    await outsider.untilHeard(channels.open.id, sentTo(channels.open).length, recoveryPatienceMs)
  }

  const untilMore = (more: number) =>
    untilAcknowledged(senders, countAcknowledged(senders) + more, recoveryPatienceMs).catch((error: Error) => {
      throw new Error(`${error.message}\n${report()}\n${installation.output}`)
    })

  function report(): string {
    const repetitions = new Map<string, number>()
    for (const sender of senders) {
      for (const [why, count] of sender.repetitions) repetitions.set(why, (repetitions.get(why) ?? 0) + count)
    }
    return [
      `${countAcknowledged(senders)} messages of ${senders.length} senders, ${readers.length + 1} readers. Killed with SIGKILL, or frozen:`,
      ...summary,
      `  sent again: ${JSON.stringify(Object.fromEntries(repetitions))}`,
      `  streams opened again: ${[...readers, outsider].map(({ reconnections }) => reconnections).join(', ')}`,
    ].join('\n')
  }
})

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
