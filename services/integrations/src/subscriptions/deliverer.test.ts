import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Person } from '@parley/test'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually, receives, subscriptionEnvironment } from './subscriptions.testing.ts'

const context = subscriptionEnvironment()
const { environment, subscribes, saysInOrder, lease, looksForChanges } = context
let bot: Person
beforeAll(() => {
  bot = context.bot
})

describe('a subscription', () => {
  /** Waits until a failure is stored, and moves the clock to the next attempt. */
  async function itsPauseEnds(id: string) {
    const failures = environment.deps.db.selectFrom('subscriptions').select('attempts').where('id', '=', id)
    await eventually(async () => expect((await failures.executeTakeFirstOrThrow()).attempts).toBe(1))
    environment.pass(10_000)
  }

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

  /** An administrator's change, while the subscription is paused. */
  async function whilePaused(id: string, change: { epoch: string } | { sealedSecret: string }) {
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: true })).toMatchObject({ status: 200 })
    await environment.deps.db.updateTable('subscriptions').set(change).where('id', '=', id).execute()
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: false })).toMatchObject({ status: 200 })
  }

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
