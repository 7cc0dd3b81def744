import { setTimeout as delay } from 'node:timers/promises'
import { everyone } from '@parley/contract'
import { connectRedis, followChannel, isReady, openRedis, type RedisSettings, redisNames } from '@parley/redis'
import { type RedisShapes, redisShapes, whyNoRedis } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeBatch } from './batch.ts'
import { deliveryEnvironment, eventually, nameOf } from './delivery.testing.ts'
import { createEphemeralFeed, createEphemeralPublisher } from './index.ts'
import { readNewestPosition } from './positions.queries.ts'

const missing = await whyNoRedis()
const missingTls = await whyNoRedis('tls')

describe('Redis in every shape', () => {
  const { held, relay, feed, says, logger, metrics, onEnd } = deliveryEnvironment()
  let shapes: RedisShapes
  let prepared: Awaited<ReturnType<typeof prepare>>
  beforeAll(async () => {
    if (missing) return
    shapes = await redisShapes()
    prepared = await prepare()
  })
  afterAll(() => shapes?.discard())

  /** A new cluster accepts writes after two seconds, so the slow topologies are started together. */
  async function prepare() {
    const [sentinel, nodes, secure] = await Promise.all([shapes.sentinel(), shapes.cluster(), secureCluster()])
    return { sentinel, nodes, secure }
  }

  async function secureCluster() {
    if (missingTls) return undefined
    const { ca, lines } = await shapes.certificate()
    const nodes = await shapes.cluster([...lines, 'tls-cluster yes', 'requirepass secret'], {
      password: 'secret',
      tls: { ca },
    })
    return { nodes, ca }
  }

  function connect(settings: RedisSettings) {
    const redis = connectRedis({ settings, name: 'test', logger })
    onEnd(() => redis.disconnect())
    return redis
  }

  /** A running relay and feed, and the list of all published messages. */
  async function exchange(settings: RedisSettings) {
    const published: string[] = []
    const onMessage = (text: string) => void published.push(...decodeBatch(text).map(nameOf))
    const channel = redisNames(settings).events
    await followChannel({ redis: connect(settings), channel, logger, onMessage }).begun()
    relay({ redis: settings })
    const live = await feed({ redis: settings })
    const redis = connect(settings)
    await eventually(() => expect(isReady(redis)).toBe(true))
    const streamed = async () => {
      const { epoch } = await readNewestPosition(held.database.pool)
      const entries = await redis.xrange(redisNames(settings).stream(epoch), '-', '+')
      return entries.flatMap(([, [, text]]) => decodeBatch(text!).map(nameOf))
    }
    return { live, published, streamed }
  }

  async function deliversAll(settings: RedisSettings) {
    const { live, published, streamed } = await exchange(settings)
    await says('one', 'two')
    await says('three')
    const all = ['one', 'two', 'three']
    await eventually(() => expect([live.names(), published]).toEqual([all, all]))
    await eventually(async () => expect(await streamed()).toEqual(all))
    await typingArrives(settings)
  }

  async function typingArrives(settings: RedisSettings) {
    const got: string[] = []
    const follower = createEphemeralFeed({ redis: settings, logger, onEvent: ({ event }) => void got.push(event) })
    const publisher = createEphemeralPublisher({ redis: settings, logger, metrics })
    onEnd(() => [follower.close(), publisher.close()])
    await follower.start()
    await eventually(() => {
      publisher.publish({ type: 'UPDATE_SERVER_SETTINGS', payload: { name: 'typing' }, routing: everyone })
      expect(got[0]).toContain('typing')
    })
  }

  test.skipIf(missing)(`an ACL user who may use only names with the prefix${because(missing)}`, async () => {
    const user = 'user chat on >secret resetkeys ~team:* resetchannels &team:* +@all -@dangerous +info'
    const { address, ask } = await shapes.server(['user default on >admin ~* &* +@all', user], { password: 'admin' })
    const keyPrefix = 'team:'
    await deliversAll({ url: `redis://chat:secret@${address}`, keyPrefix })
    expect(await ask((redis) => redis.keys('*'))).toEqual([expect.stringMatching(/^team:\{events\}:/)])

    const apart = connect({ url: `redis://${address}`, username: 'chat', password: 'secret', keyPrefix })
    await eventually(() => expect(isReady(apart)).toBe(true))
    await expect(apart.get('parley:{events}')).rejects.toThrow('NOPERM')
    expect(await refusal({ url: `redis://chat:wrong@${address}` })).toMatch('WRONGPASS')
  })

  test.skipIf(missingTls)(`TLS with an authority of one's own${because(missingTls)}`, async () => {
    const { ca, lines } = await shapes.certificate()
    const { address } = await shapes.server([...lines, 'requirepass secret'], { password: 'secret', tls: { ca } })
    const url = `rediss://:secret@${address}`
    await deliversAll({ url, tls: { enabled: false, ca } })
    expect(await refusal({ url })).toMatch(/self.signed/)
  })

  test.skipIf(missingTls)(`a cluster with TLS and a password${because(missingTls)}`, async () => {
    const { nodes, ca } = prepared.secure!
    await deliversAll({ clusterNodes: [nodes[1]!.address], password: 'secret', tls: { enabled: true, ca } })
  })

  test.skipIf(missing)(`a master that dies, and Sentinels that know the next one${because(missing)}`, async () => {
    const { master, replica, sentinel } = prepared.sentinel
    // The first Sentinel does not exist, so the next one is asked.
    const settings = { sentinels: ['127.0.0.1:1', sentinel.address], sentinelName: 'chat' }
    const { live, streamed, published } = await exchange(settings)
    await says('one')
    await eventually(() => expect(published).toEqual(['one']))
    await says('two')
    await eventually(() => expect(published).toEqual(['one', 'two']))
    await master.ask((redis) => redis.wait(1, 5_000))

    // The replica lacks a write that the master has acknowledged.
    const key = redisNames().stream(live.epoch)
    await replica.ask(async (redis) => {
      await redis.config('SET', 'replica-read-only', 'no')
      await redis.xdel(key, '2-0')
      await redis.xsetid(key, '1-0')
      expect(await redis.xlen(key)).toBe(1)
    })
    await master.crash()
    await says('three')
    await eventually(() => expect(live.names()).toEqual(['one', 'two', 'three']))
    await eventually(async () => expect((await replica.ask((redis) => redis.role()))[0]).toBe('master'))
    await eventually(async () => expect(await streamed()).toEqual(['one', 'two', 'three']))

    await says('four')
    await eventually(() => expect([live.names().at(-1), published.at(-1)]).toEqual(['four', 'four']))
    expect(live.names()).toEqual(['one', 'two', 'three', 'four'])
    expect(live.resets).toEqual([])
  })

  test.skipIf(missing)(`a cluster, one node of which dies and comes back empty${because(missing)}`, async () => {
    const { nodes } = prepared
    const settings = { clusterNodes: nodes.map(({ address }) => address) }
    await deliversAll(settings)
    const { live, published, streamed } = await exchange(settings)

    const slot = await nodes[0]!.ask((redis) => redis.cluster('KEYSLOT', redisNames().events))
    const owner = nodes[Math.floor((slot * 3) / 16_384)]!
    expect(await owner.ask((redis) => redis.exists(redisNames().stream(live.epoch)))).toBe(1)
    await owner.crash()
    await says('four')
    await eventually(() => expect(live.names()).toEqual(['four']))
    await owner.restart()
    await eventually(async () => expect(await streamed()).toEqual(['one', 'two', 'three', 'four']))
    await eventually(async () => {
      await says('again')
      await delay(100)
      expect(published.at(-1)).toBe('again')
    })
    expect(live.resets).toEqual([])
  })
})

const because = (reason?: string) => (reason ? ` (skipped: ${reason})` : '')

/** Why Redis refuses the connection. */
async function refusal(settings: RedisSettings): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const redis = openRedis(settings, { connectionName: 'test', retryStrategy: () => 1_000 })
  redis.on('error', ({ message }) => resolve(message))
  try {
    return await promise
  } finally {
    redis.disconnect()
  }
}
