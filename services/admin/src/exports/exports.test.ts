import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { Channel, Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { buildApp } from '@parley/service'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { request } from 'undici'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { exportRoutes } from './exports.routes.ts'

const environment = testEnvironment({ exports: { keepHours: 1 } })
const byId = <T extends { id: string }>(things: T[]) => things.toSorted((a, b) => (a.id < b.id ? -1 : 1))
const exported = async () => (await environment.people.ada.get('/admin/export')).body

/** Requests an export and waits until a worker has computed it. */
async function ready(): Promise<string> {
  const { id } = (await environment.people.ada.post('/admin/exports')).body
  await vi.waitFor(
    async () =>
      expect((await environment.people.ada.get(`/admin/exports/${id}`)).body).toMatchObject({ state: 'ready' }),
    { timeout: 20_000, interval: 20 },
  )
  return id
}

async function download(id: string): Promise<{ bytes: Buffer; headers: Record<string, unknown> }> {
  const { headers, body } = await request(`${environment.baseUrl}/admin/exports/${id}/download`, {
    headers: { authorization: `Bearer ${environment.people.ada.token}` },
  })
  return { bytes: Buffer.from(await body.arrayBuffer()), headers }
}

let gone: { text: Message; channel: Channel; leaver: Person; webhook: { id: string; token: string } }
let conversationId: string
let webhook: { id: string; token: string }

beforeAll(async () => {
  const { ada, ann, bob, cat } = environment.people
  const { open, secret } = environment.channel
  await ann.put('/users/me/status', { text: 'At "sea"', emoji: '🌴' })
  const parent = await ann.says('a parent, "quoted" \\ \u2028 and 🦆 @bob', open)
  await bob.post(`/messages/${parent.id}/thread`, { content: 'a reply' })
  await bob.post(`/messages/${parent.id}/reactions`, { reaction: '👍' })
  await ann.post(`/messages/${parent.id}/reactions`, { reaction: '👍' })
  await ann.post(`/messages/${parent.id}/reactions`, { reaction: '0' })
  await ann.post(`/messages/${parent.id}/pin`)
  const edited = await ann.says('first', secret)
  await ann.put(`/messages/${edited.id}`, { content: 'second', quotedMessageId: null })
  conversationId = (await ann.post('/conversations', { targetUserId: cat.id })).body.conversation.id
  await ann.post(`/conversations/${conversationId}/messages`, { content: 'between two people' })
  webhook = (await ada.post('/webhooks', { name: 'bot', channelId: open.id })).body.webhook
  const bot = new Person(environment.baseUrl, { id: '', userName: 'bot' }, webhook.token)
  await bot.post(`/webhooks/${webhook.id}/messages`, { content: 'from a bot' })

  const leaver = await Person.signIn(environment.baseUrl, 'leaver@example.com')
  await leaver.says('I was here', open)
  await leaver.post('/users/exit')
  const text = await ann.says('deleted content', open)
  await ann.delete(`/messages/${text.id}`)
  const channel = await ann.creates({ name: 'for a while' })
  await ann.says('in a deleted channel', channel)
  const doomed = (await ada.post('/webhooks', { name: 'doomed', channelId: channel.id })).body.webhook
  await ann.delete(`/channels/${channel.id}`)
  gone = { text, channel, leaver, webhook: doomed }
})

describe('GET /admin/export', () => {
  test('has the same data as the API', async () => {
    const { ada, ann } = environment.people
    const { status, headers, body } = await ada.get('/admin/export')
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json; charset=utf-8' })
    expect(headers['content-disposition']).toMatch(/^attachment; filename="parley-export-\d{8}T\d{6}\.json"$/)
    expect(Object.keys(body).sort()).toEqual(
      ['exportedAt', 'users', 'channels', 'messages', 'conversations', 'serverSettings', 'webhooks', 'auditLog'].sort(),
    )
    expect(Math.abs(body.exportedAt - Date.now())).toBeLessThan(600_000)
    expect(body.serverSettings).toEqual((await ada.get('/server/settings')).body)
    expect(byId(body.webhooks)).toEqual(byId((await ada.get('/webhooks')).body.webhooks))

    const channels: Channel[] = (await ada.get('/channels')).body.channels
    const withoutState = channels.map(({ id }) => body.channels.find((channel: Channel) => channel.id === id))
    expect(channels).toMatchObject(withoutState)
    expect(body.channels).toHaveLength(channels.length)
    const [conversation] = (await ann.get('/conversations')).body.conversations
    // The export has what everybody sees, not what ann has set and read.
    const { id, participants, createdAt, lastMessageAt } = conversation
    expect(body.conversations).toEqual([{ id, participants, createdAt, lastMessageAt }])

    const paths = [...channels.map(({ id }) => `/channels/${id}/messages`), `/conversations/${conversationId}/messages`]
    const listed: Message[] = []
    for (const path of paths) listed.push(...(await ann.get(path)).body.messages)
    for (const { id } of listed.filter(({ threadMeta }) => threadMeta)) {
      listed.push(...(await ann.get(`/messages/${id}/thread`)).body.replies)
    }
    expect(listed).toHaveLength(6)
    expect(body.messages).toEqual(byId(listed))
  })

  test('has removed people, with a mark, and nothing that was deleted', async () => {
    const { ada } = environment.people
    const { leaver, text, channel, webhook } = gone
    const body = await exported()
    const live = (await ada.get('/users')).body.users
    expect(body.users.filter(({ removedAt }: { removedAt: unknown }) => removedAt === null)).toEqual(
      byId(live as { id: string }[]).map((user) => ({ ...user, removedAt: null })),
    )
    expect(body.users).toContainEqual(expect.objectContaining({ id: leaver.id, removedAt: expect.any(Number) }))
    const all = JSON.stringify({ ...body, auditLog: [] })
    expect(all).not.toMatch(/deleted content|in a deleted channel/)
    for (const { id } of [text, channel, webhook]) expect(all).not.toContain(id)
  })

  test('has no secrets', async () => {
    const { db } = environment.deps
    await db
      .updateTable('users')
      .set({ passwordHash: 'scrypt$of$ada' })
      .where('id', '=', environment.people.ada.id)
      .execute()
    const text = JSON.stringify(await exported())
    expect(text).not.toMatch(/scrypt|password_?hash|token_?hash|"token"/i)
    expect(text).not.toContain(webhook.token)
  })

  test('is in the audit log, and its own entry is in the document', async () => {
    const { ada } = environment.people
    const body = await exported()
    const last = body.auditLog.at(-1)
    expect(last).toMatchObject({ action: 'export.create', actorId: ada.id, targetType: 'export', ip: '127.0.0.1' })
    const { entries, total } = (await ada.get('/admin/audit-log?limit=1000')).body
    expect(body.auditLog).toHaveLength(total)
    // The listing is in the order of moments. Entries of the same millisecond may be in another order than their ids.
    expect(body.auditLog).toEqual(byId(entries as { id: string }[]))
  })
})

describe('POST /admin/exports', () => {
  test('responds at once, reports its progress, and keeps the document for a while', async () => {
    const { ada } = environment.people
    const { status, headers, body } = await ada.post('/admin/exports')
    expect(status).toBe(202)
    expect(headers.location).toBe(`/admin/exports/${body.id}`)
    expect(body).toMatchObject({ state: 'waiting', requestedBy: ada.id, finishedAt: null })

    const id = await ready()
    const { bytes, headers: downloaded } = await download(id)
    const document = JSON.parse(gunzipSync(bytes).toString())
    expect((await ada.get(`/admin/exports/${id}`)).body).toMatchObject({
      progress: { total: records(document), records: records(document) },
      size: bytes.length,
      finishedAt: expect.any(Number),
    })
    expect(downloaded).toMatchObject({
      'content-type': 'application/gzip',
      'content-length': String(bytes.length),
      'content-disposition': expect.stringMatching(/^attachment; filename="parley-export-[\dT]+\.json\.gz"$/),
    })
    expect({ ...document, exportedAt: 0, auditLog: [] }).toEqual({ ...(await exported()), exportedAt: 0, auditLog: [] })

    environment.pass(3_600_001)
    for (const path of [`/admin/exports/${id}`, `/admin/exports/${id}/download`]) {
      expect(await ada.get(path)).toMatchObject({ status: 404 })
    }
    environment.pass(-3_600_001)
  })

  test('that is not ready, or failed, has nothing to download', async () => {
    const { ada } = environment.people
    const { db } = environment.deps
    const id = uuidv7()
    const soon = Date.now() + 60_000
    const row = { id, requestedBy: ada.id, state: 'waiting' as const, createdAt: 1, expiresAt: soon }
    await db.insertInto('exports').values(row).execute()
    expect(await ada.get(`/admin/exports/${id}/download`)).toMatchObject({ status: 404 })
    await db.updateTable('exports').set({ state: 'failed' }).where('id', '=', id).execute()
    expect(await ada.get(`/admin/exports/${id}`)).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect(await ada.get(`/admin/exports/${id}/download`)).toMatchObject({ status: 404 })
  })

  test.each(['nonsense', uuidv7(), '%2e%2e'])('%s is 404', async (id) => {
    for (const path of [`/admin/exports/${id}`, `/admin/exports/${id}/download`]) {
      expect(await environment.people.ada.get(path)).toMatchObject({ status: 404 })
    }
  })
})

test('exports are for admins', async () => {
  const { ann, nobody } = environment.people
  const id = await ready()
  const holder = new Person(environment.baseUrl, { id: '', userName: 'bot' }, webhook.token)
  const entries = () =>
    environment.deps.db.selectFrom('auditLog').select('id').where('action', '=', 'export.create').execute()
  const before = await entries()
  for (const [person, status] of [
    [ann, 403],
    [nobody, 401],
    [holder, 401],
  ] as const) {
    expect(await person.get('/admin/export')).toMatchObject({ status })
    expect(await person.post('/admin/exports')).toMatchObject({ status })
    expect(await person.get(`/admin/exports/${id}`)).toMatchObject({ status })
    expect(await person.get(`/admin/exports/${id}/download`)).toMatchObject({ status })
  }
  expect(await entries()).toEqual(before)
})

test.each([
  ['POST /admin/exports', (person: Person) => person.post('/admin/exports')],
  ['PUT /server/settings', (person: Person) => person.put('/server/settings', { name: 'Mine' })],
] as const)('%s is refused to an admin who is demoted while it waits', async (_, ask) => {
  const { ada } = environment.people
  const eve = await Person.signIn(environment.baseUrl, 'eve@example.com')
  await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
  const { response } = await environment.deps.db.transaction().execute(async (trx) => {
    const row = trx.updateTable('users').set({ isAdmin: false }).where('id', '=', eve.id)
    await trx.selectFrom('users').select('id').where('id', '=', eve.id).forUpdate().execute()
    const response = ask(eve)
    // Without a wait for the row the response would be there by now.
    await Promise.race([somebodyWaitsFor(trx), response])
    await row.execute()
    return { response }
  })
  expect((await response).status).toBe(403)
})

test('an export that is requested while Redis is unavailable is computed later, once for repeated requests', async () => {
  const { people, redis } = environment
  const deps = environment.depsOf('admin')
  const { fastify } = await buildApp({ deps, position: 'inside', checks: {} })
  await fastify.register(exportRoutes(deps, { quietMs: 100, accessMs: 1_000 }))
  onTestFinished(async () => {
    await fastify.close()
  })
  redis.kill('SIGKILL')
  const headers = { authorization: `Bearer ${people.ada.token}` }
  // Nobody can insert an export until both requests have searched for a waiting one, or wait to do so.
  const holder = await environment.deps.db.startTransaction().execute()
  await sql`lock table exports in share mode`.execute(holder)
  const requests = Promise.all([1, 2].map(() => fastify.inject({ url: '/admin/export', headers })))
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await waiting.execute(environment.deps.db)).rows.length < 2);
  await holder.rollback().execute()
  const [response, concurrent] = await requests
  expect(response).toMatchObject({ statusCode: 503, headers: { 'retry-after': '30' } })
  const [path] = /\/admin\/exports\/[\w-]+\/download/.exec(response!.json().error)!
  expect(concurrent!.json().error).toContain(path)
  expect(await people.ada.get(path)).toMatchObject({ status: 404 })
  const repeated = await fastify.inject({ url: '/admin/export', headers })
  expect(repeated.json().error).toContain(path)

  await redis.restart()
  await vi.waitFor(async () => expect((await people.ada.downloads(path)).status).toBe(200), {
    timeout: 20_000,
    interval: 50,
  })
})

describe('a download that is running', () => {
  /** A download by a new admin. It has begun, and `goesOn` lets it go on. */
  async function begin() {
    const { ada } = environment.people
    const id = await ready()
    const eve = await Person.signIn(environment.baseUrl, `eve-${uuidv7()}@example.com`)
    await ada.put(`/users/${eve.id}/role`, { role: 'admin' })

    const { promise: isAllowed, resolve: goesOn } = Promise.withResolvers<void>()
    const deps = environment.depsOf('admin')
    const get: typeof deps.blobs.get = async (key) => {
      const bytes = await buffer(await deps.blobs.get(key))
      const slowly = async function* () {
        yield bytes.subarray(0, 100)
        await isAllowed
        yield bytes.subarray(100)
      }
      return Readable.from(slowly(), { objectMode: false })
    }
    const { fastify } = await buildApp({ deps, position: 'inside', checks: {} })
    await fastify.register(exportRoutes({ ...deps, blobs: { ...deps.blobs, get } }, { quietMs: 100, accessMs: 0 }))
    onTestFinished(async () => {
      await fastify.close()
    })
    const url = `${await fastify.listen({ host: '127.0.0.1', port: 0 })}/admin/exports/${id}/download`
    const { statusCode, headers, body } = await request(url, { headers: { authorization: `Bearer ${eve.token}` } })
    expect(statusCode).toBe(200)
    const whole = (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of body) chunks.push(chunk)
      return Buffer.concat(chunks).length
    })()
    whole.catch(() => {})
    return { ada, eve, goesOn, whole, size: Number(headers['content-length']) }
  }

  test('goes on while its caller is an admin', async () => {
    const { goesOn, whole, size } = await begin()
    goesOn()
    expect(await whole).toBe(size)
  })

  test.each<[string, (ada: Person, eve: Person) => Promise<{ status: number }>]>([
    ['is demoted', (ada, eve) => ada.put(`/users/${eve.id}/role`, { role: 'member' })],
    ['is deactivated', (ada, eve) => ada.put(`/users/${eve.id}/active`, { isActive: false })],
    ['signs out', (_, eve) => eve.post('/auth/logout', {})],
  ])('ends when its caller %s', async (_, end) => {
    const { ada, eve, goesOn, whole } = await begin()
    expect(await end(ada, eve)).toMatchObject({ status: 200 })
    goesOn()
    await expect(whole).rejects.toThrow()
  })
})

const records = (document: Record<string, unknown>) =>
  Object.values(document).reduce<number>((sum, value) => sum + (Array.isArray(value) ? value.length : 0), 0)
