import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type EmbeddedServer, startPostgres, startRedis } from '@parley/embedded'
import { type HttpResponse, Person, prepareDatabase } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'
import { PersistentSender, untilAcknowledged } from './persistent-sender.ts'
import { receiverNetwork, SubscribedReceiver } from './subscribed-receiver.ts'

/** Separate PostgreSQL and Redis servers, which no launcher restarts. */
describe.each(usualTopologies)('%s', { timeout: 90_000 }, (topology) => {
  let directory: string
  let postgres: EmbeddedServer
  let redis: EmbeddedServer
  let installation: Installation
  let ann: Person

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'parley-parts-'))
    // When root runs the tests, PostgreSQL runs as another user, who must be able to enter the directory.
    await chmod(directory, 0o711)
    postgres = await startPostgres({ directory: path.join(directory, 'postgres'), durable: true })
    redis = await startRedis({ directory: path.join(directory, 'redis'), durable: false })
    const database = await prepareDatabase(postgres.url, 1)
    await database.close()
    const env = {
      REDIS_URL: redis.url,
      PARLEY_RATE_LIMIT_ENABLED: 'true',
      PARLEY_INTEGRATIONS_ALLOWED_NETWORKS: receiverNetwork,
    }
    installation = await launch(topology, { replicas: 1, database, env })
    ann = await Person.signIn(installation.baseUrl, 'ann@example.com')
  })
  afterAll(async () => {
    await installation?.discard()
    await redis?.stop()
    await postgres?.stop()
    await rm(directory, { recursive: true, force: true })
  })

  async function killParts() {
    const gone = [postgres, redis].map((part) => new Promise((resolve) => part.onExit(resolve)))
    for (const part of [postgres, redis]) part.kill('SIGKILL')
    await Promise.all(gone)
    await Promise.all([postgres.restart(), redis.restart()])
  }

  async function killServices() {
    for (const name of ['integrations', 'worker']) await installation.kill(name, 'SIGKILL')
  }

  const ready = () => Person.nobody(installation.baseUrl).get('/health/ready')

  /**
   * Repeats the request until its response has this status, for changes without an event. @throws with the last response
   * after 20 s.
   */
  async function answers(ask: () => Promise<HttpResponse>, status: number): Promise<HttpResponse> {
    const until = performance.now() + 20_000
    for (;;) {
      const response = await ask()
      if (response.status === status) return response
      if (performance.now() > until) throw new Error(`still ${response.status} ${JSON.stringify(response.body)}`)
    }
  }

  test('without Redis people sign in, post, read and log out, and the events arrive when it is available again', async () => {
    const channel = await ann.creates({ name: 'without redis' })
    const bob = await Person.signIn(installation.baseUrl, 'bob@example.com')
    const [toAnn, toBob] = await Promise.all([ann.opensStream(), bob.opensStream()])
    const gone = new Promise((resolve) => redis.onExit(resolve))
    redis.kill('SIGKILL')
    await gone

    const cat = await Person.signIn(installation.baseUrl, 'cat@example.com')
    const said = [await cat.says('one', channel), await bob.says('two', channel), await ann.says('three', channel)]
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual(said)
    expect(await ready()).toMatchObject({ status: 200 })
    expect((await bob.post('/auth/logout')).status).toBe(200)
    await toBob.ended

    // Nodes read PostgreSQL regularly, so some of the events may arrive before Redis is back.
    await redis.restart()
    await toAnn.waitFor('NEW_MESSAGE', { id: said.at(-1)!.id }, 20_000)
    expect(toAnn.all('NEW_MESSAGE')).toEqual(said)
    expect(toAnn.all('NEW_USER').map(({ id }) => id)).toContain(cat.id)
    await toAnn.close()
  })

  test('a Redis that does not answer delays nobody', async () => {
    const channel = await ann.creates({ name: 'frozen redis' })
    const stream = await ann.opensStream()
    redis.kill('SIGSTOP')
    const dan = await Person.signIn(installation.baseUrl, 'dan@example.com')
    const toDan = await dan.opensStream()
    const message = await dan.says('hello?', channel)
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([message])
    expect((await dan.post('/auth/logout')).status).toBe(200)
    await toDan.ended
    redis.kill('SIGCONT')
    await stream.waitFor('NEW_MESSAGE', { id: message.id }, 20_000)
    await stream.close()
  })

  test('without PostgreSQL every request gets 503 with Retry-After, and everything continues when it is available again', async () => {
    const channel = await ann.creates({ name: 'without postgresql' })
    const stream = await ann.opensStream()
    const before = await ann.says('before', channel)
    await stream.waitFor('NEW_MESSAGE', { id: before.id })
    const gone = new Promise((resolve) => postgres.onExit(resolve))
    postgres.kill('SIGKILL')
    await gone

    const nobody = Person.nobody(installation.baseUrl)
    const refusals = await Promise.all([
      ann.get('/channels'),
      ann.get('/auth/me'),
      ann.get(`/channels/${channel.id}/messages`),
      ann.post(`/channels/${channel.id}/messages`, { content: 'lost' }),
      ann.post('/channels', { name: 'lost' }),
      nobody.post('/auth/dev-login', { email: 'eve@example.com' }),
    ])
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 503, body: { error: expect.any(String) } })
      expect(Number(refusal.headers['retry-after'])).toBeGreaterThan(0)
    }
    await expect(ann.opensStream()).rejects.toMatchObject({ status: 503 })
    expect((await ready()).status).toBe(503)
    expect((await nobody.get('/health/live')).status).toBe(200)
    expect((await nobody.get('/health')).body).toBe('OK')

    await postgres.restart()
    await answers(ready, 200)
    const stored = await ann.get(`/channels/${channel.id}/messages`)
    expect(stored).toMatchObject({ status: 200, body: { messages: [before] } })
    expect(stored.body.messages).toHaveLength(1)
    const after = await ann.says('after', channel)
    expect(after.seq).toBe(2)
    const live = await ann.opensStream(stream.cursor)
    expect(live.connected.payload.resumed).toBe(true)
    await live.waitFor('NEW_MESSAGE', { id: after.id })
    await Promise.all([live.close(), stream.close()])
  })

  test.runIf(topology === 'cluster')(
    'a subscription gets every event, in order and with one id, after every kind of kill',
    { timeout: 240_000 },
    async () => {
      const receiver = new SubscribedReceiver()
      await receiver.start(await Person.signIn(installation.baseUrl, 'admin@example.com'))
      const channel = await ann.creates({ name: 'subscribed' })
      const sender = new PersistentSender(ann, channel)
      sender.start()
      for (const kill of [killParts, killServices]) {
        // The kill happens during a delivery.
        await receiver.hold(60_000)
        await kill()
        receiver.release()
        await untilAcknowledged([sender], sender.acknowledged.length + 20)
      }
      await sender.stop()
      await receiver.untilHeard(channel.id, sender.acknowledged.length, 90_000)
      expect(receiver.heard.get(channel.id)!.map(({ content }) => content)).toEqual(
        sender.acknowledged.map(({ content }) => content),
      )
      expect(receiver.faults).toEqual([])
      // The delivering process was killed before it got the response.
      expect(receiver.repetitions).toBeGreaterThan(0)
      await receiver.stop()
    },
  )
})
