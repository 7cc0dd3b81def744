import { randomUUID } from 'node:crypto'
import { version } from '@parley/config/version'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '@parley/telemetry/testing'
import { Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'

describe('the trace of one send', () => {
  let collector: OtlpReceiver
  let installation: Installation
  let trace: ReceivedSpan[]
  const content = `nobody must read this ${randomUUID()}`
  const foreignParent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const secrets: string[] = []

  beforeAll(async () => {
    collector = await startOtlpReceiver()
    installation = await launch('cluster', { replicas: 1, env: collector.env })
    const ann = await Person.signIn(installation.baseUrl, 'ann@example.com')
    const stream = await ann.opensStream()
    const byQuery = await fetch(`${installation.baseUrl}/events?token=${ann.token}`)
    secrets.push(content, ann.token!, ann.refreshToken!, 'ann@example.com')

    const sendInNewChannel = async (): Promise<ReceivedSpan[]> => {
      const channel = await ann.creates({ name: randomUUID() })
      const key = randomUUID()
      secrets.push(key)
      const message = await ann.says(content, channel, {
        'idempotency-key': key,
        // The gateway ignores this header and begins its own trace.
        traceparent: foreignParent,
      })
      await stream.waitFor('NEW_MESSAGE', { id: message.id })
      const isSend = ({ service, attributes }: ReceivedSpan) =>
        service === 'gateway' && attributes['url.path'] === `/channels/${channel.id}/messages`
      const traceOf = (spans: ReceivedSpan[]) => {
        const send = spans.find(isSend)
        return spans.filter(({ traceId }) => traceId === send?.traceId)
      }
      return traceOf(await collector.until((spans) => isWhole(traceOf(spans))))
    }
    // A node that checks PostgreSQL before the event comes from Redis reads it there. Such a trace does not lead through the relay.
    do trace = await sendInNewChannel()
    while (!isRelayed(trace))

    await ann.post('/auth/refresh', { refreshToken: ann.refreshToken })
    await byQuery.body?.cancel()
    await stream.close()
  })
  afterAll(async () => {
    await installation?.discard()
    await collector?.close()
  })

  test('does not continue a client’s, and has the version of Parley', () => {
    expect(foreignParent).not.toContain(trace[0]!.traceId)
    expect(collector.bodies.join()).not.toContain(foreignParent.split('-')[1])
    expect(new Set(trace.map((span) => span.version))).toEqual(new Set([version]))
  })

  test('leads from the gateway through messaging and the relay to the stream, each step the child of the one before', () => {
    const path = [...ancestors(only('realtime.deliver'))].reverse()
    expect(path[0]).toMatchObject({ service: 'gateway', parentSpanId: '', kind: server })
    const services = path.map(({ service }) => service).filter((service, index, all) => service !== all[index - 1])
    expect(services).toEqual(['gateway', 'messaging', 'worker', 'realtime'])
    expect(path.at(-2)).toMatchObject({ service: 'worker', name: 'relay.publish' })
    expect(path.find(({ service }) => service === 'messaging')).toMatchObject({ kind: server })
  })

  test('has one root, and every span has its parent', () => {
    expect(trace.filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(1)
    const ids = new Set(trace.map(({ spanId }) => spanId))
    expect(trace.filter(({ parentSpanId }) => parentSpanId !== '' && !ids.has(parentSpanId))).toEqual([])
  })

  test('shows the shared statement in PostgreSQL, linked with the send', () => {
    const request = trace.find(({ service, kind }) => service === 'messaging' && kind === server)!
    const batches = collector.spans.filter(({ name }) => name === 'messaging.send_batch')
    const batch = batches.find(
      (each) => ancestors(each).has(request) || each.links.some(({ traceId }) => traceId === request.traceId),
    )
    expect(batch, 'a batch in or linked with the trace').toBeDefined()
    const statement = collector.spans.find(
      ({ service, attributes, parentSpanId }) =>
        service === 'messaging' && attributes['db.system.name'] === 'postgresql' && parentSpanId === batch!.spanId,
    )
    expect(statement, 'a PostgreSQL span below the batch').toBeDefined()
  })

  test('shows Redis below the relay', async () => {
    const publish = only('relay.publish')
    const findCommand = (spans: readonly ReceivedSpan[]) => {
      const append = spans.find(
        ({ name, parentSpanId, links }) =>
          name === 'relay.append' &&
          (parentSpanId === publish.spanId || links.some(({ spanId }) => spanId === publish.spanId)),
      )
      return spans.find(({ scope, parentSpanId }) => scope.includes('ioredis') && parentSpanId === append?.spanId)
    }
    // When a batch has several events, this span belongs to another trace and may arrive later.
    await collector.until((spans) => findCommand(spans) !== undefined)
    expect(findCommand(collector.spans)).toMatchObject({ service: 'worker', kind: client })
  })

  test('no span has a token, an address or the content of a message', () => {
    const everything = collector.bodies.join('\n')
    expect(everything).toContain('/events')
    for (const secret of secrets) expect(everything).not.toContain(secret)
    expect(everything).not.toMatch(/postgres:\/\/|redis:\/\/|[?&]token=|authorization/i)
  })

  function only(name: string): ReceivedSpan {
    const found = trace.filter((span) => span.name === name)
    expect(found, name).toHaveLength(1)
    return found[0]!
  }

  /** The span and those above it, nearest first. */
  function ancestors(span: ReceivedSpan): Set<ReceivedSpan> {
    const path = new Set<ReceivedSpan>()
    for (let at: ReceivedSpan | undefined = span; at && !path.has(at); ) {
      path.add(at)
      const { parentSpanId }: ReceivedSpan = at
      at = collector.spans.find(({ spanId }) => spanId === parentSpanId)
    }
    return path
  }
})

/** Kinds of spans, as OTLP numbers them. */
const server = 2
const client = 3

/**
 * Whether the trace of a send has all its spans up to the delivery. Spans arrive as their processes send them, so a child may come before
 * its parent.
 */
function isWhole(spans: ReceivedSpan[]): boolean {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const names = new Set(spans.map(({ name }) => name))
  return (
    names.has('relay.publish') &&
    names.has('realtime.deliver') &&
    spans.every(({ parentSpanId: id }) => id === '' || ids.has(id))
  )
}

function isRelayed(spans: ReceivedSpan[]): boolean {
  const delivery = spans.find(({ name }) => name === 'realtime.deliver')
  return spans.some(({ name, spanId }) => name === 'relay.publish' && spanId === delivery?.parentSpanId)
}
