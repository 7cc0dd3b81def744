import { gunzipSync } from 'node:zlib'
import type { Message } from '@parley/contract'
import { type Connection, connectDatabase, databaseRoles, migrate } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PersistentSender, untilAcknowledged } from '../faults/persistent-sender.ts'
import { findPgbouncer, Pgbouncer, poolSize } from './pgbouncer.ts'

const found = await findPgbouncer()
const binary = 'missing' in found ? undefined : found
const why = 'missing' in found ? ` (skipped: ${found.missing})` : ''

describe.skipIf(!binary)(`behind PgBouncer in transaction mode${why}`, () => {
  let pgbouncer: Pgbouncer
  const environment = testEnvironment(
    { database: { pooler: 'transaction' } },
    {
      async pooler(database) {
        // A copy of the template database has its tables, but not the grants of the roles.
        await migrate(database.db)
        pgbouncer = await Pgbouncer.start(binary!, database)
        return pgbouncer
      },
    },
  )

  const connect = (options: { preparedStatements: boolean }): Connection => {
    const connection = connectDatabase({
      url: environment.depsOf('messaging').config.database.url,
      poolSize: 10,
      applicationName: 'test',
      onIdleError() {},
      pooler: 'transaction',
      ...options,
    })
    onTestFinished(connection.close)
    return connection
  }
  const tenAtOnce = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: 10 }, ask))

  test('messages that many send at once are stored in order, heard, read and found', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await ann.creates({ name: 'at once' })
    const stream = await bob.opensStream()
    const said = await Promise.all(
      Array.from({ length: 300 }, (_, n) => [ann, bob, cat][n % 3]!.says(`spoken by many ${n}`, channel)),
    )
    for (const { id } of said) await stream.waitFor('NEW_MESSAGE', { id })
    await stream.close()
    const kept = await cat.readsAll(`/channels/${channel.id}/messages`)
    expect(kept.map(({ seq }) => seq)).toEqual(Array.from({ length: 300 }, (_, n) => n + 1))
    // The message that was stored last need not be among the newest 50 by id, because its author had to join the
    // channel first.
    const last = kept.at(-1)!
    const search = async () => {
      const { status, body } = await ann.get(`/search/messages?q=${encodeURIComponent(last.content)}`)
      return { status, ids: body.messages?.map(({ id }: Message) => id) }
    }
    await expect.poll(search).toEqual({ status: 200, ids: expect.arrayContaining([last.id]) })
  })

  test('many requests share few connections to PostgreSQL', async () => {
    const { ann } = environment.people
    const responses = await Promise.all(Array.from({ length: 100 }, () => ann.get('/conversations')))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    const { rows } = await environment.deps.pool.query<{ count: number }>(
      `select count(*) from pg_stat_activity where datname = current_database() and usename like 'parley\\_%' group by usename`,
    )
    expect(rows.length).toBeGreaterThan(1)
    expect(rows.length).toBeLessThanOrEqual(databaseRoles.length)
    for (const { count } of rows) expect(count).toBeLessThanOrEqual(poolSize)
  })

  test('an export, which a job computes from one snapshot, has all messages', async () => {
    const { ada, ann } = environment.people
    const { id: messageId } = await ann.says('to be exported', environment.channel.secret)
    const { id } = (await ada.post('/admin/exports')).body
    await expect.poll(async () => (await ada.get(`/admin/exports/${id}`)).body).toMatchObject({ state: 'ready' })
    const { body } = await request(`${environment.baseUrl}/admin/exports/${id}/download`, {
      headers: { authorization: `Bearer ${ada.token}` },
    })
    expect(gunzipSync(Buffer.from(await body.arrayBuffer())).toString()).toContain(messageId)
  })

  test('sessions have the time limits and the settings of the planner from their role', async () => {
    const { pool } = connect({ preparedStatements: false })
    const settings = await tenAtOnce(async () => {
      const { rows } = await pool.query(`select name, setting from pg_settings where name = any($1) order by name`, [
        ['statement_timeout', 'idle_in_transaction_session_timeout', 'enable_seqscan', 'enable_bitmapscan', 'jit'],
      ])
      return rows.map(({ name, setting }) => `${name} ${setting}`)
    })
    const expected = [
      'enable_bitmapscan off',
      'enable_seqscan off',
      'idle_in_transaction_session_timeout 30000',
      'jit off',
      'statement_timeout 30000',
    ]
    expect(settings).toEqual(Array(10).fill(expected))
  })

  test('statements have names only with the setting, which a PgBouncer before 1.21 does not support', async () => {
    const ask = async (pool: Connection['pool']) => {
      const responses = await tenAtOnce(() =>
        pool.query({ name: 'counted', text: 'select $1::int as n', values: [1] }).then(
          ({ rows }) => rows[0].n,
          (error) => error.code,
        ),
      )
      return new Set(responses)
    }
    expect(await ask(connect({ preparedStatements: false }).pool)).toEqual(new Set([1]))
    const named = await ask(connect({ preparedStatements: true }).pool)
    // 42P05: another client has prepared it on this connection already.
    expect(named.has('42P05')).toBe(!binary!.keepsStatements)
  })

  test('when PgBouncer is killed, requests work again as soon as it runs, and no acknowledged message is lost', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await ann.creates({ name: 'killed' })
    const stream = await cat.opensStream()
    const senders = [ann, bob].map((person) => new PersistentSender(person, channel))
    for (const sender of senders) sender.start()
    await untilAcknowledged(senders, 50)
    await pgbouncer.kill()
    await expect.poll(async () => (await ann.get('/health/ready')).status).toBe(503)
    await pgbouncer.start()
    await untilAcknowledged(senders, 150)
    for (const sender of senders) await sender.stop()

    expect(senders.flatMap(({ faults }) => faults)).toEqual([])
    const kept = await cat.readsAll(`/channels/${channel.id}/messages`)
    expect(kept.map(({ seq }) => seq)).toEqual(kept.map((_, index) => index + 1))
    const acknowledged = senders.flatMap((sender) => sender.acknowledged)
    expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)))
    for (const { id } of acknowledged) await stream.waitFor('NEW_MESSAGE', { id })
    await stream.close()
  })
})
