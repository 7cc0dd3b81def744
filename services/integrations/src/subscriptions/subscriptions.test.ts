import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Transaction } from '@parley/database'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createsBot } from '../bot.testing.ts'

/** The only address that may be called. The receivers of these tests listen there. */
const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
let bot: Person
beforeAll(async () => {
  bot = await Person.signIn(environment.baseUrl, 'bot@example.com')
  await environment.deps.db.updateTable('users').set({ isBot: true }).where('id', '=', bot.id).execute()
})

interface Taken {
  id: string
  type: string
  payload: { id: string; content?: string; seq: number }
  headers: Record<string, string>
  body: string
}

/** A receiver that accepts all requests, or responds as `answer` does. */
async function receives(answer: (response: ServerResponse, taken: Taken) => void = (response) => void response.end()) {
  const taken: Taken[] = []
  const control = { answer }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const event = { ...JSON.parse(body), headers: request.headers, body } as Taken
    taken.push(event)
    control.answer(response, event)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const contents = () => taken.map(({ payload }) => payload.content)
  return { taken, contents, control, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

const eventually = (assertion: () => void | Promise<void>) => vi.waitFor(assertion, { timeout: 30_000, interval: 50 })

async function subscribes(url: string, wish: object = {}, by: Person = bot) {
  const { status, body } = await by.post('/subscriptions', { url, events: ['NEW_MESSAGE'], ...wish })
  expect([status, body.error]).toEqual([200, undefined])
  const { subscription } = body
  onTestFinished(async () => void (await bot.delete(`/subscriptions/${subscription.id}`)))
  return subscription as { id: string; secret: string; cursor: string }
}

/** Waits until a failure is stored, and moves the clock to the next attempt. */
async function itsPauseEnds(id: string) {
  const failures = environment.deps.db.selectFrom('subscriptions').select('attempts').where('id', '=', id)
  await eventually(async () => expect((await failures.executeTakeFirstOrThrow()).attempts).toBe(1))
  environment.pass(10_000)
}

async function saysInOrder(...contents: string[]) {
  const channel = environment.channel.open
  for (const content of contents) await environment.people.ann.says(content, channel)
}

describe('a subscription', () => {
  test('gets the events that its bot may read, signed and in order', async () => {
    const { ann, ada } = environment.people
    const receiver = await receives()
    const { secret } = await subscribes(receiver.url)
    const { secret: other } = await subscribes(receiver.url, { botId: bot.id, events: ['DELETE_CHANNEL'] }, ada)
    expect(other).not.toBe(secret)
    await ann.says('hidden', environment.channel.secret)
    await saysInOrder(...Array.from({ length: 20 }, (_, n) => `event ${n}`))

    await eventually(() => expect(receiver.contents()).toEqual(Array.from({ length: 20 }, (_, n) => `event ${n}`)))
    for (const { id, type, body, headers } of receiver.taken) {
      expect([type, headers['webhook-id']]).toEqual(['NEW_MESSAGE', id])
      expect(new Webhook(secret).verify(body, headers)).toBeTruthy()
      expect(() => new Webhook(other).verify(body, headers)).toThrow()
    }
  })

  test.each<[string, (response: ServerResponse) => unknown]>([
    ['cannot be decoded', (response) => response.setHeader('content-encoding', 'gzip').end('no gzip')],
    ['breaks off', (response) => response.writeHead(200, { 'content-length': 9 }).write('a', () => response.destroy())],
  ])('is not sent an event again that it accepted with a body that %s', async (_, respond) => {
    const receiver = await receives((response, { payload }) =>
      payload.content === 'accepted' ? respond(response) : response.end(),
    )
    const { id } = await subscribes(receiver.url)
    await saysInOrder('accepted', 'next')
    await eventually(() => expect(receiver.contents().at(-1)).toBe('next'))
    expect(receiver.contents()).toEqual(['accepted', 'next'])
    const deliveries = async () => (await bot.get(`/subscriptions/${id}/deliveries`)).body.deliveries
    await eventually(async () =>
      expect(await deliveries()).toMatchObject([
        { status: 200, error: null },
        { status: 200, error: null },
      ]),
    )
  })

  test('gets events of its channels only, and none after the bot has lost access', async () => {
    const { ann } = environment.people
    const receiver = await receives()
    const channel = await ann.creates({ name: 'for the bot', isPrivate: true, members: [bot.id] })
    const { id } = await subscribes(receiver.url, { channelIds: [channel.id] })
    await saysInOrder('elsewhere')
    await ann.says('here', channel)
    await eventually(() => expect(receiver.contents()).toEqual(['here']))

    await ann.put(`/channels/${channel.id}`, { members: [] })
    await ann.says('without the bot', channel)
    await ann.put(`/channels/${channel.id}`, { members: [bot.id] })
    await ann.says('with it again', channel)
    await eventually(() => expect(receiver.contents().at(-1)).toBe('with it again'))

    const { body } = await bot.put(`/subscriptions/${id}`, { channelIds: [] })
    expect(body.subscription.channelIds).toBeNull()
  })

  test('gets no event after the time of its bot, a guest, is over', async () => {
    const { ada, ann } = environment.people
    const { id } = (await ada.post('/bots', { userName: 'visiting bot' })).body.bot
    expect((await ada.put(`/users/${id}/role`, { role: 'guest' })).status).toBe(200)
    const { token } = (await ada.post(`/bots/${id}/tokens`, { name: 'all', scopes: ['write'] })).body
    const visitor = new Person(environment.baseUrl, { id, userName: 'visiting bot' }, token)
    const channel = await ann.creates({ name: 'for a while', members: [id, bot.id] })
    const [receiver, witness] = [await receives(), await receives()]
    const wish = { url: receiver.url, events: ['NEW_MESSAGE'] }
    expect(await visitor.post('/subscriptions', wish)).toMatchObject({ status: 200 })
    await subscribes(witness.url, { channelIds: [channel.id] })
    const setEnd = (guestExpiresAt: number | null) =>
      environment.deps.db
        .updateTable('users')
        .set({ guestExpiresAt, deactivatedAt: null })
        .where('id', '=', id)
        .execute()

    await ann.says('in time', channel)
    await eventually(() => expect([receiver.contents(), witness.contents()]).toEqual([['in time'], ['in time']]))
    await setEnd(environment.deps.clock() - 1)
    await ann.says('too late', channel)
    await eventually(() => expect(witness.contents().at(-1)).toBe('too late'))
    await setEnd(null)
    await ann.says('back again', channel)
    await eventually(() => expect(receiver.contents().at(-1)).toBe('back again'))
    expect(receiver.contents()).toEqual(['in time', 'back again'])
    await ada.delete(`/bots/${id}`)
  })

  test('gets no waiting event after the bot has lost access', async () => {
    const { ann } = environment.people
    const held = Promise.withResolvers<ServerResponse>()
    const slow = await receives((response, { payload }) =>
      payload.content === 'slow' ? held.resolve(response) : void response.end(),
    )
    const quick = await receives()
    const channel = await ann.creates({ name: 'left by the bot', isPrivate: true, members: [bot.id] })
    const channelIds = [channel.id, environment.channel.open.id]
    await Promise.all([subscribes(slow.url, { channelIds }), subscribes(quick.url, { channelIds })])
    await ann.says('slow', channel)
    const response = await held.promise
    await ann.says('waiting', channel)
    // Both have read it from the log at once.
    await eventually(() => expect(quick.contents()).toEqual(['slow', 'waiting']))
    await ann.put(`/channels/${channel.id}`, { members: [] })
    // A receiver may take its time. Rights that were checked longer ago than a second are checked again.
    await delay(1_100)
    response.end()
    await saysInOrder('elsewhere')
    await eventually(() => expect(slow.contents().at(-1)).toBe('elsewhere'))
    expect(slow.contents()).toEqual(['slow', 'elsewhere'])
  })

  test('of a bot is changed by an API token of an admin only if it has the scope admin', async () => {
    const { ada } = environment.people
    const receiver = await receives()
    const withScope = async (scope: string) => {
      const { body } = await ada.post('/auth/tokens', { name: scope, scopes: [scope] })
      return new Person(environment.baseUrl, ada, body.token)
    }
    const [writer, admin] = [await withScope('write'), await withScope('admin')]
    const wish = { url: receiver.url, events: ['NEW_DM_MESSAGE'], botId: bot.id }
    const refused = { status: 403, body: { code: 'insufficient_scope' } }
    expect(await writer.post('/subscriptions', wish)).toMatchObject(refused)
    const { id } = await subscribes(receiver.url, { botId: bot.id }, admin)
    expect(await writer.put(`/subscriptions/${id}`, { url: receiver.url })).toMatchObject(refused)
    expect(await writer.delete(`/subscriptions/${id}`)).toMatchObject(refused)
    expect((await writer.get(`/subscriptions/${id}`)).status).toBe(200)
    expect((await admin.put(`/subscriptions/${id}`, { isPaused: true })).status).toBe(200)
  })

  test('is tried again with the same id, keeps the order, and delays no other subscription', async () => {
    let failures = 0
    const failing = await receives((response) => void response.writeHead(failures++ < 1 ? 500 : 204).end())
    const hanging = await receives(() => {})
    const quick = await receives()
    const [{ id }] = await Promise.all([subscribes(failing.url), subscribes(hanging.url), subscribes(quick.url)])
    await saysInOrder('one', 'two', 'three')
    await eventually(() => expect(quick.contents()).toEqual(['one', 'two', 'three']))
    await itsPauseEnds(id)
    await eventually(() => expect(failing.contents()).toEqual(['one', 'one', 'two', 'three']))
    expect(failing.taken[0]!.id).toBe(failing.taken[1]!.id)
    expect(hanging.contents()).toEqual(['one'])

    await eventually(async () => {
      const { body } = await bot.get(`/subscriptions/${id}/deliveries?limit=3`)
      expect(body).toMatchObject({
        hasMore: true,
        deliveries: [
          { status: 204, attempt: 1, error: null },
          { status: 204, attempt: 1 },
          { status: 204, attempt: 2, eventId: failing.taken[0]!.id },
        ],
      })
      const { body: next } = await bot.get(`/subscriptions/${id}/deliveries?after=${body.deliveries[2].id}`)
      expect(next).toMatchObject({ hasMore: false, deliveries: [{ status: 500, attempt: 1, type: 'NEW_MESSAGE' }] })
    })
  })

  test('is paused by a 410, with a mail, and gets the missed events when it is continued', async () => {
    const { ada } = environment.people
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url, { botId: bot.id }, ada)
    await saysInOrder('gone')
    await eventually(async () => {
      const { subscription } = (await bot.get(`/subscriptions/${id}`)).body
      expect(subscription).toMatchObject({ isPaused: true, pauseReason: expect.stringContaining('410') })
    })
    const mails = await environment.deps.db
      .selectFrom('auditLog')
      .select('targetId')
      .where('action', '=', 'subscription.pause')
      .execute()
    expect(mails).toEqual([{ targetId: id }])

    await saysInOrder('meanwhile')
    receiver.control.answer = (response) => void response.end()
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: false })).toMatchObject({ status: 200 })
    await eventually(() => expect(receiver.contents()).toEqual(['gone', 'gone', 'meanwhile']))
  })

  /**
   * Runs the work while writes to the audit log wait, and with them a pause, which writes its entry in the same
   * transaction.
   */
  async function whilePauseWaits(run: (trx: Transaction) => Promise<unknown>) {
    await environment.deps.db.transaction().execute(async (trx) => {
      await sql`lock table audit_log in share mode`.execute(trx)
      await run(trx)
    })
  }

  const lease = () =>
    environment.deps.db.selectFrom('deliveryLease').select(['holder', 'expiresAt']).executeTakeFirstOrThrow()

  /** The deliverer looks for changes directly after it has renewed its lease, so it has looked after two renewals. */
  async function looksForChanges() {
    for (let renewals = 0; renewals < 2; renewals++) {
      const { expiresAt } = await lease()
      await eventually(async () => expect((await lease()).expiresAt).toBeGreaterThan(expiresAt))
    }
  }

  const isPaused = async (id: string) => (await bot.get(`/subscriptions/${id}`)).body.subscription.isPaused

  test('stays paused when its row was read again before the pause was stored', async () => {
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url)
    await whilePauseWaits(async (trx) => {
      await saysInOrder('gone')
      await somebodyWaitsFor(trx)
      await looksForChanges()
    })
    await eventually(async () => expect(await isPaused(id)).toBe(true))
    await looksForChanges()
    expect(receiver.contents()).toEqual(['gone'])
  })

  test('gets an event again that it answered with 410 when the pause could not be stored', async () => {
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url)
    await whilePauseWaits(async (trx) => {
      await saysInOrder('gone')
      await somebodyWaitsFor(trx)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(
        trx,
      )
      await looksForChanges()
      expect(await isPaused(id)).toBe(false)
    })
    await eventually(async () => expect(await isPaused(id)).toBe(true))
    expect(new Set(receiver.contents())).toEqual(new Set(['gone']))
    expect(receiver.taken.length).toBeGreaterThanOrEqual(2)
  })

  /** The state of a receiver that was unreachable for so long that the next attempt is an hour away. */
  async function isAway(id: string) {
    const change = { attempts: 6, failingSince: Date.now() - 3_600_000, retryAt: Date.now() + 3_600_000 }
    await environment.deps.db
      .updateTable('subscriptions')
      .set({ ...change, updatedAt: Date.now() })
      .where('id', '=', id)
      .execute()
    await looksForChanges()
    return () =>
      environment.deps.db
        .updateTable('subscriptions')
        .set({ retryAt: Date.now(), updatedAt: Date.now() })
        .where('id', '=', id)
        .execute()
  }

  test('catches up in order after an hour, and delays no other subscription', { timeout: 90_000 }, async () => {
    const away = await receives()
    const quick = await receives()
    const [{ id }] = await Promise.all([subscribes(away.url), subscribes(quick.url)])
    const isBack = await isAway(id)
    // More events than the deliverer keeps in memory. It reads the rest from the event log when the receiver is back.
    const said = Array.from({ length: 220 }, (_, n) => `while away ${n}`)
    await Promise.all(said.map((content) => environment.people.ann.says(content, environment.channel.open)))
    await eventually(() => expect(quick.taken).toHaveLength(said.length))
    expect(away.taken).toEqual([])
    await isBack()
    await eventually(() => expect(away.taken).toHaveLength(said.length))
    expect(away.taken.map(({ id }) => id)).toEqual(quick.taken.map(({ id }) => id))
    const numbers = away.taken.map(({ payload }) => payload.seq)
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
    await saysInOrder('at last')
    await eventually(() => expect(away.contents().at(-1)).toBe('at last'))
  })

  test('continues after the lease of another process has expired', async () => {
    const receiver = await receives()
    await subscribes(receiver.url)
    await saysInOrder('by the one')
    await eventually(() => expect(receiver.contents()).toEqual(['by the one']))
    const leaseUntil = (expiresAt: number) =>
      environment.deps.db.updateTable('deliveryLease').set({ holder: 'another process', expiresAt }).execute()
    await leaseUntil(Date.now() + 3_600_000)
    // The old process may continue until its lease ends, some seconds later. Events that it sends may arrive again,
    // with the same id.
    await saysInOrder('during the other', 'and after')
    await leaseUntil(0)
    await eventually(async () => expect((await lease()).holder).not.toBe('another process'))
    await saysInOrder('at last')
    await eventually(() => expect(receiver.contents().at(-1)).toBe('at last'))
    const first = new Map(receiver.taken.toReversed().map(({ id, payload }) => [id, payload.content]))
    expect([...first.values()].toReversed()).toEqual(['by the one', 'during the other', 'and after', 'at last'])
  })

  /** An administrator's change, while the subscription is paused. */
  async function whilePaused(id: string, change: { epoch: string } | { sealedSecret: string }) {
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: true })).toMatchObject({ status: 200 })
    await environment.deps.db.updateTable('subscriptions').set(change).where('id', '=', id).execute()
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: false })).toMatchObject({ status: 200 })
  }

  test('continues from its position in a new epoch', async () => {
    const receiver = await receives()
    const { id } = await subscribes(receiver.url)
    await saysInOrder('before')
    await eventually(() => expect(receiver.contents()).toEqual(['before']))
    await whilePaused(id, { epoch: 'another' })
    await saysInOrder('after')
    await eventually(() => expect(receiver.contents().at(-1)).toBe('after'))
    const { epoch } = await environment.deps.db.selectFrom('relayLease').select('epoch').executeTakeFirstOrThrow()
    const row = environment.deps.db.selectFrom('subscriptions').select('epoch').where('id', '=', id)
    await eventually(async () => expect(await row.executeTakeFirstOrThrow()).toEqual({ epoch }))
  })

  test('sends nothing when its secret cannot be read any more, and shows why', async () => {
    const receiver = await receives()
    const { id } = await subscribes(receiver.url)
    await whilePaused(id, { sealedSecret: 'of another key' })
    await saysInOrder('unsigned')
    await eventually(async () => {
      const { body } = await bot.get(`/subscriptions/${id}/deliveries`)
      expect(body.deliveries[0]).toMatchObject({ status: null, error: expect.stringContaining('auth.jwtSecret') })
    })
    expect(receiver.taken).toEqual([])
  })

  test('is replayed from a cursor or a moment, with the same ids', async () => {
    const receiver = await receives()
    const { id } = await subscribes(receiver.url)
    const since = Date.now()
    await saysInOrder('first', 'second')
    await eventually(() => expect(receiver.contents()).toEqual(['first', 'second']))
    const [first, second] = receiver.taken

    const replayed = await bot.post(`/subscriptions/${id}/replay`, { cursor: first!.id })
    expect(replayed).toMatchObject({ status: 200, body: { from: first!.id } })
    expect(replayed.body.events).toBeGreaterThanOrEqual(1)
    await eventually(() => expect(receiver.contents()).toEqual(['first', 'second', 'second']))
    expect(receiver.taken[2]!.id).toBe(second!.id)
    await bot.post(`/subscriptions/${id}/replay`, { since })
    await eventually(() => expect(receiver.contents().slice(-2)).toEqual(['first', 'second']))

    for (const body of [
      {},
      { since: 1, cursor: first!.id },
      { cursor: 'nonsense' },
      { cursor: `${first!.id}999999` },
      { cursor: `${first!.id}.7` },
    ]) {
      expect(await bot.post(`/subscriptions/${id}/replay`, body)).toMatchObject({ status: 400 })
    }
    const { status, body } = await bot.post(`/subscriptions/${id}/replay`, { since: 1e300 })
    expect([status, body.error]).toEqual([400, `since must be at most ${Number.MAX_SAFE_INTEGER}`])
  })
})

describe('subscriptions', () => {
  test('are for admins, and for bots only their own', async () => {
    const { ann, ada } = environment.people
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'] }
    expect(await ann.post('/subscriptions', body)).toMatchObject({ status: 403 })
    expect(await ann.get('/subscriptions')).toMatchObject({ status: 403 })
    expect(await ada.post('/subscriptions', { ...body, botId: ann.id })).toMatchObject({ status: 403 })
    expect(await bot.post('/subscriptions', { ...body, botId: ann.id })).toMatchObject({ status: 403 })
    const { id } = await subscribes(body.url)
    for (const response of [
      await ann.get(`/subscriptions/${id}`),
      await ann.put(`/subscriptions/${id}`, { isPaused: true }),
      await ann.delete(`/subscriptions/${id}`),
      await ann.post(`/subscriptions/${id}/replay`, { since: 1 }),
      await ann.get(`/subscriptions/${id}/deliveries`),
    ])
      expect(response).toMatchObject({ status: 403 })
    const listed = (await bot.get('/subscriptions')).body.subscriptions
    expect(listed).toContainEqual(expect.objectContaining({ id, botId: bot.id, createdBy: bot.id }))
    expect(JSON.stringify(listed)).not.toContain('whsec_')
    expect(await bot.delete(`/subscriptions/${id}`)).toMatchObject({ status: 200 })
    expect(await bot.get(`/subscriptions/${id}`)).toMatchObject({ status: 404 })
  })

  test('of a bot that was removed are unknown', async () => {
    const { ada } = environment.people
    const former = await createsBot(environment, 'former bot')
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'] }
    const { id } = (await former.post('/subscriptions', body)).body.subscription
    const listed = async () =>
      (await ada.get('/subscriptions')).body.subscriptions.map((each: { id: string }) => each.id)
    expect(await listed()).toContain(id)
    expect(await ada.delete(`/bots/${former.id}`)).toMatchObject({ status: 200 })
    expect(await listed()).not.toContain(id)
    expect(await ada.get(`/subscriptions/${id}`)).toMatchObject({ status: 404 })
    expect(await ada.put(`/subscriptions/${id}`, { isPaused: true })).toMatchObject({ status: 404 })
  })

  test.each([
    [{ url: 'ftp://a.example' }],
    [{ url: 'https://ann:secret@a.example' }],
    [{ events: [] }],
    [{ events: ['TYPING'] }],
    [{ events: ['toString'] }],
    [{ channelIds: ['nonsense'] }],
    [{ secret: 'short' }],
    [{ secret: 'whsec_c2hvcnQ=' }],
  ])('refuse %j', async (wish) => {
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'], ...wish }
    expect(await bot.post('/subscriptions', body)).toMatchObject({ status: 400 })
  })

  test.each(['the bot', 'an admin'])('of a bot are at most 50, also when %s creates many at once', async (by) => {
    const { ada } = environment.people
    const { id } = (await ada.post('/bots', { userName: `eager bot of ${by}` })).body.bot
    const { token } = (await ada.post(`/bots/${id}/tokens`, { name: 'all', scopes: ['write'] })).body
    const eager = new Person(environment.baseUrl, { id, userName: 'eager' }, token)
    const create = (n: number) => {
      const wish = { url: `https://example.com/${n}`, events: ['NEW_MESSAGE'] }
      return by === 'the bot' ? eager.post('/subscriptions', wish) : ada.post('/subscriptions', { ...wish, botId: id })
    }
    const responses = await Promise.all(Array.from({ length: 70 }, (_, n) => create(n)))
    const refused = responses.filter(({ status }) => status !== 200)
    expect((await eager.get('/subscriptions')).body.subscriptions).toHaveLength(50)
    expect(refused.map(({ status, body }) => [status, body.error])).toEqual(
      Array(20).fill([400, 'A bot can have at most 50 subscriptions. Please delete one first']),
    )
    await ada.delete(`/bots/${id}`)
  })

  test('keep a given secret, encrypted', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const subscription = await subscribes('https://receiver.example/', { secret })
    expect(subscription.secret).toBe(secret)
    const row = await environment.deps.db
      .selectFrom('subscriptions')
      .select('sealedSecret')
      .where('id', '=', subscription.id)
      .executeTakeFirstOrThrow()
    expect(row.sealedSecret).not.toContain(secret.slice(6, 20))
  })

  test('do not call addresses of internal networks', async () => {
    const { id } = await subscribes('http://127.0.0.2/')
    await saysInOrder('for nobody')
    await eventually(async () => {
      const [delivery] = (await bot.get(`/subscriptions/${id}/deliveries`)).body.deliveries
      expect(delivery).toMatchObject({
        status: null,
        error: 'This server does not call addresses of internal networks',
      })
    })
  })
})
