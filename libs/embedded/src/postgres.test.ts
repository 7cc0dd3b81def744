import { chmod, lstat, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EmbeddedServer, type ServerExit, startPostgres } from './index.ts'
import { findProcesses } from './processes.ts'

const isRoot = process.getuid?.() === 0
let home: string
let directory: string
let postgres: EmbeddedServer

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
  await chmod(home, 0o711)
  directory = join(home, 'postgres')
  postgres = await startPostgres({ directory, durable: true })
}, 120_000)

afterAll(async () => {
  await postgres.stop()
  await rm(home, { recursive: true, force: true })
})

describe('an embedded PostgreSQL', () => {
  test('converts the case of every script, in lower() and in ILIKE', async () => {
    const sql = `select lower('ÄÖΣЖ') as lower, 'ÅNGSTRÖM' ilike '%ngström' as alike, getdatabaseencoding() as encoding`
    expect(await query(sql)).toEqual([{ lower: 'äöσж', alike: true, encoding: 'UTF8' }])
  })

  test('is durable if requested', async () => {
    const sql = `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages`
    expect(await query(sql)).toEqual([{ fsync: 'on', commit: 'on', pages: 'on' }])
  })

  test.each([
    ['a wrong password', (url: URL) => (url.password = 'wrong'), '28P01'],
    ['no password', (url: URL) => (url.password = ''), undefined],
    ['an unknown user', (url: URL) => (url.username = 'postgres'), '28P01'],
  ])('refuses %s', async (_, change, code) => {
    const url = new URL(postgres.url)
    change(url)
    const client = new Client({ connectionString: url.href })
    await expect(client.connect()).rejects.toMatchObject(code ? { code } : { message: /password/ })
  })

  test('listens only on 127.0.0.1, and requires a password', async () => {
    const rules = await query(`select distinct auth_method from pg_hba_file_rules`)
    const sockets = await query(
      `select current_setting('listen_addresses') || current_setting('unix_socket_directories') as all`,
    )
    expect([rules, sockets]).toEqual([[{ auth_method: 'scram-sha-256' }], [{ all: '127.0.0.1' }]])
  })

  test('makes password, port and log readable only by their owner, and puts the password on no command line', async () => {
    for (const name of ['password', 'port', 'postgres.log'])
      expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600)
    expect((await stat(join(directory, 'data'))).mode & 0o777).toBe(0o700)
    const password = await readFile(join(directory, 'password'), 'utf8')
    expect(postgres.url).toContain(password)
    expect(await findProcesses('postgres', join(directory, 'data'))).toEqual([postgres.pid])
    expect(await findProcesses('postgres', password)).toEqual([])
  })

  test('keeps its data, port and password after a restart', async () => {
    await query('create table stopped as select 1 as one')
    await postgres.stop()
    await postgres.stop()
    await expect(query('select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })

    const { url } = postgres
    postgres = await startPostgres({ directory, durable: true })
    expect(postgres.url).toBe(url)
    expect(await query('select one from stopped')).toEqual([{ one: 1 }])
  }, 120_000)

  test('reports that it was killed, and restarts with all committed data', async () => {
    await query('create table killed as select 1 as one')
    const busy = new Client({ connectionString: postgres.url })
    busy.on('error', () => {})
    await busy.connect()
    const cut = expect(busy.query('select pg_sleep(60)')).rejects.toThrow()
    const { pid } = postgres
    const exit = new Promise<ServerExit>((resolve) => postgres.onExit(resolve))
    postgres.kill('SIGKILL')
    expect(await exit).toEqual({ code: null, signal: 'SIGKILL' })

    await postgres.restart()
    await cut
    expect(postgres.pid).not.toBe(pid)
    expect(await query('select one from killed')).toEqual([{ one: 1 }])
  }, 120_000)

  test('reports no requested end, and calls no unsubscribed callback', async () => {
    const exits: string[] = []
    postgres.onExit(() => exits.push('asked for'))
    const unsubscribe = postgres.onExit(() => exits.push('unsubscribed'))
    await postgres.restart()
    expect(exits).toEqual([])

    unsubscribe()
    const exit = new Promise<ServerExit>((resolve) => postgres.onExit(resolve))
    postgres.kill('SIGKILL')
    await exit
    expect(exits).toEqual(['asked for'])
    await postgres.restart()
  }, 120_000)

  test('refuses data of another major version', async () => {
    await postgres.stop()
    const versionFile = join(directory, 'data', 'PG_VERSION')
    const version = await readFile(versionFile, 'utf8')
    await writeFile(versionFile, '14\n')
    await expect(startPostgres({ directory, durable: true })).rejects.toThrow('made by PostgreSQL 14')
    await writeFile(versionFile, version)
    await postgres.restart()
  }, 120_000)
})

describe.runIf(isRoot)('under root', () => {
  test('moves its data to a directory that its user can enter, and links it', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'parley-closed-'))
    const link = join(closed, 'postgres')
    const said: string[] = []
    const moved = await startPostgres({ directory: link, durable: true, log: (line) => said.push(line) })
    const target = await realpath(link)
    try {
      expect((await lstat(link)).isSymbolicLink()).toBe(true)
      expect(said.join()).toContain(target)
      await query('create table notes as select 1 as one', moved.url)
      await moved.stop()
      const again = await startPostgres({ directory: link, durable: true })
      expect(await query('select one from notes', again.url)).toEqual([{ one: 1 }])
      await again.stop()
    } finally {
      await moved.stop()
      await rm(target, { recursive: true })
      await rm(closed, { recursive: true })
    }
  }, 120_000)

  test('keeps the data of a test in its temporary directory', async () => {
    const temporary = await mkdtemp(join(tmpdir(), 'parley-temporary-'))
    const careless = await startPostgres({ directory: join(temporary, 'postgres'), durable: false })
    expect((await lstat(join(temporary, 'postgres'))).isDirectory()).toBe(true)
    expect(await query(`select current_setting('fsync') as fsync`, careless.url)).toEqual([{ fsync: 'off' }])
    await careless.stop()
    await rm(temporary, { recursive: true })
  }, 120_000)
})

async function query(sql: string, connectionString = postgres.url) {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
