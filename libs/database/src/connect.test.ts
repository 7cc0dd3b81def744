import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connectDatabase, isDatabaseUnavailable } from '@parley/database'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

test('a server that stops answering fails its queries, and the next query goes to another connection', async () => {
  const server = await reachedThroughNetwork()
  const { db, close } = connectDatabase({
    url: server.url,
    poolSize: 1,
    applicationName: 'test',
    onIdleError: () => {},
    silenceMs: 1_000,
  })
  onTestFinished(close)
  const ask = () => sql`select 1`.execute(db)
  await ask()

  server.cutOff()
  const waiting = await db
    .transaction()
    .execute((trx) => sql`select 1`.execute(trx))
    .catch((error: unknown) => error)
  expect(isDatabaseUnavailable(waiting), String(waiting)).toBe(true)

  server.heal()
  expect((await ask()).rows).toHaveLength(1)
})

test('close ends a pool that Kysely never used', async () => {
  const database = await createDatabase()
  onTestFinished(database.drop)
  const { pool, close } = connectDatabase({
    url: database.url,
    poolSize: 1,
    applicationName: 'test',
    onIdleError: () => {},
  })
  await pool.query('select 1')
  await close()
  expect(pool.ended).toBe(true)
})

/** A database behind a network that can drop all packets. Connections from that time stay dead. */
async function reachedThroughNetwork() {
  const database = await createDatabase()
  const { hostname, port } = new URL(database.url)
  const sockets = new Set<Socket>()
  let isCut = false
  const network = createServer((near) => {
    sockets.add(near)
    if (isCut) return
    const far = connect(Number(port), hostname)
    sockets.add(far)
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) socket.on('error', () => {})
  })
  network.listen(0, '127.0.0.1')
  await once(network, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    network.close()
    await database.drop()
  })
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String((network.address() as AddressInfo).port)
  return {
    url: url.href,
    cutOff() {
      isCut = true
      for (const socket of sockets) socket.unpipe()
    },
    heal() {
      isCut = false
    },
  }
}
