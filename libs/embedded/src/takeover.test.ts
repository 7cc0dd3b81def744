import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { lockDataDirectory, startPostgres, startRedis } from './index.ts'
import { endLeftovers, findProcesses } from './processes.ts'

let directory: string
let launcher: ChildProcess
let started: { postgres: number; redis: number; urls: [string, string] }

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-takeover-'))
  // When root runs the tests, PostgreSQL runs as another user, who must be able to enter the directory.
  await chmod(directory, 0o711)
  launcher = spawn(process.execPath, [join(import.meta.dirname, 'launcher.fixture.ts'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: launcher.stdout! })) {
    started = JSON.parse(line)
    break
  }
}, 120_000)

afterEach(async () => {
  launcher.kill('SIGKILL')
  await endLeftovers('postgres', postgresData(), ['SIGKILL'], 5_000)
  await endLeftovers('redis-server', redisConfig(), ['SIGKILL'], 5_000)
  await rm(directory, { recursive: true, force: true })
})

test('after a kill -9 of the launcher the next start ends its servers and uses their data', async () => {
  await expect(lockDataDirectory(directory)).rejects.toThrow(`pid ${launcher.pid}`)
  await write(started.urls)
  launcher.kill('SIGKILL')
  await once(launcher, 'exit')

  expect(await running()).toEqual([[started.postgres], [started.redis]])

  const lock = await lockDataDirectory(directory)
  const said: string[] = []
  const options = (part: string) => ({
    directory: join(directory, part),
    durable: true,
    log: (line: string) => said.push(line),
  })
  const [postgres, redis] = await Promise.all([startPostgres(options('postgres')), startRedis(options('redis'))])

  expect(await running()).toEqual([[postgres.pid], [redis.pid]])
  expect([postgres.pid, redis.pid]).not.toEqual([started.postgres, started.redis])
  expect([postgres.url, redis.url]).toEqual(started.urls)
  expect(said.join()).toContain(`pid ${started.postgres}`)
  expect(said.join()).toContain(`pid ${started.redis}`)
  expect(await read(started.urls)).toEqual(['kept', 'kept'])

  await Promise.all([postgres.stop(), redis.stop()])
  await lock.release()
  expect(await running()).toEqual([[], []])
}, 120_000)

test('a PostgreSQL killed with its launcher starts again, although another process has its old pid', async () => {
  await write(started.urls)
  launcher.kill('SIGKILL')
  process.kill(started.postgres, 'SIGKILL')
  await once(launcher, 'exit')
  const { uid, gid } = await stat(postgresData())
  const stranger = spawn('sleep', ['600'], process.getuid?.() === 0 ? { uid, gid, cwd: '/' } : {})
  onTestFinished(() => void stranger.kill('SIGKILL'))
  const pidFile = join(postgresData(), 'postmaster.pid')
  await writeFile(pidFile, (await readFile(pidFile, 'utf8')).replace(/^\d+/, String(stranger.pid)))

  const postgres = await startPostgres({ directory: join(directory, 'postgres'), durable: true })
  const redis = await startRedis({ directory: join(directory, 'redis'), durable: true })
  expect(await read([postgres.url, redis.url])).toEqual(['kept', 'kept'])
  expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null])
  await Promise.all([postgres.stop(), redis.stop()])
}, 120_000)

const postgresData = () => join(directory, 'postgres', 'data')
const redisConfig = () => join(directory, 'redis', 'redis.conf')

const running = () =>
  Promise.all([findProcesses('postgres', postgresData()), findProcesses('redis-server', redisConfig())])

async function write([postgresUrl, redisUrl]: [string, string]) {
  await query(postgresUrl, `create table notes as select 'kept' as note`)
  const redis = new Redis(redisUrl)
  await redis.set('note', 'kept')
  await redis.quit()
}

async function read([postgresUrl, redisUrl]: [string, string]) {
  const [row] = await query(postgresUrl, 'select note from notes')
  const redis = new Redis(redisUrl)
  const note = await redis.get('note')
  await redis.quit()
  return [row.note, note]
}

async function query(connectionString: string, sql: string) {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
