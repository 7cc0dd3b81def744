import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadConfig } from '@parley/config'
import { uuidv7 } from '@parley/database'
import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildApp, openDeps } from './index.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** Changes of a person's account while their request is still arriving. */
const happenings = {
  nothing: async () => {},
  'they sign out': ({ sessionId }: Ids) =>
    database.db.updateTable('sessions').set({ endedAt: Date.now() }).where('id', '=', sessionId).execute(),
  'they are removed': ({ userId }: Ids) =>
    database.db.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', userId).execute(),
  'they are demoted': ({ userId }: Ids) =>
    database.db.updateTable('users').set({ isAdmin: false }).where('id', '=', userId).execute(),
}

test.each([
  ['/things', 'nothing', 200],
  ['/things', 'they sign out', 401],
  ['/things', 'they are removed', 401],
  ['/things', 'they are demoted', 200],
  ['/admin/things', 'nothing', 200],
  ['/admin/things', 'they are removed', 401],
  ['/admin/things', 'they are demoted', 403],
] as const)('%s, when %s while the body is arriving, gets %i', async (path, happening, status) => {
  const { port, tokens, identified } = await listening()
  const ids = await signIn()
  const token = await tokens.issueAccess({ ...ids, seconds: 60 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const request = http.request({ port, path, method: 'POST', headers })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  request.write('{"name"')
  await identified
  await happenings[happening](ids)
  request.end(':"x"}')
  const [response] = await answered
  expect(response.resume().statusCode).toBe(status)
})

interface Ids {
  userId: string
  sessionId: string
}

/** An admin with a session. */
async function signIn(): Promise<Ids> {
  const [userId, sessionId] = [uuidv7(), uuidv7()]
  const now = Date.now()
  const name = { userName: userId, userNameKey: userId, email: `${userId}@example.org` }
  await database.db
    .insertInto('users')
    .values({ id: userId, ...name, isAdmin: true, createdAt: now })
    .execute()
  await database.db
    .insertInto('sessions')
    .values({ id: sessionId, userId, createdAt: now, lastUsedAt: now, expiresAt: now + 60_000 })
    .execute()
  return { userId, sessionId }
}

/**
 * An app with a route for everybody and one for admins. `identified` resolves when the caller is known and the body is
 * about to be read.
 */
async function listening() {
  const config = await loadConfig({
    argv: [],
    env: {},
    cwd: import.meta.dirname,
    defaults: {
      log: { level: 'silent' },
      auth: { jwtSecret: 'a secret of at least 32 characters' },
      database: { url: database.urlOf('messaging') },
      redis: { url: 'redis://127.0.0.1:1' },
    },
  })
  const { deps, close } = openDeps('test', config)
  const { fastify } = await buildApp({ deps, checks: {}, position: 'inside' })
  const { promise: identified, resolve } = Promise.withResolvers<void>()
  const preParsing = async () => resolve()
  fastify.post('/things', { preParsing }, async ({ caller }) => ({ by: caller.userId }))
  fastify.post('/admin/things', { preParsing, config: { access: 'admin' } }, async ({ caller }) => ({
    by: caller.userId,
  }))
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => fastify.close().then(close))
  return { port: (fastify.server.address() as AddressInfo).port, tokens: deps.tokens, identified }
}
