import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { Person } from '@parley/test'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PersistentSender, untilAcknowledged } from '../faults/persistent-sender.ts'
import { freshInstallation, type Installation, launch } from '../src/launch.ts'

const run = promisify(execFile)

/**
 * A backup as in `docs/backup.md`: PostgreSQL's files are copied while people send messages, and started elsewhere
 * without Redis.
 */
let installation: Installation
let restored: Installation
beforeAll(async () => {
  installation = await launch('cluster', { replicas: 1 })
  restored = await freshInstallation('cluster', { replicas: 1 })
})
afterAll(async () => {
  await installation?.discard()
  await restored?.discard()
})

test('acknowledged messages from before a backup exist after a restore', { timeout: 180_000 }, async () => {
  const ann = await Person.signIn(installation.baseUrl, 'ann@example.com')
  const channel = await ann.creates({ name: 'kept' })
  const stream = await ann.opensStream()
  const sender = new PersistentSender(ann, channel)
  const sent = (count: number) => untilAcknowledged([sender], count)
  sender.start()
  await sent(100)
  const until = sender.acknowledged.length
  const copying = backUp(installation.directory, restored.directory)
  await sent(until + 100)
  await copying
  await sent(until + 200)
  await sender.stop()
  await stream.waitFor('NEW_MESSAGE', { id: sender.acknowledged.at(-1)!.id })
  const { cursor } = stream
  await installation.stop()

  await restored.start()
  const client = await connect(restored.directory)
  await client.query(`update relay_lease set epoch = 'after-restore'`)
  await client.end()
  // Here PostgreSQL stops and starts together with the services, and they must read the new epoch.
  await restored.stop()
  await restored.start()
  const again = await Person.signIn(restored.baseUrl, 'ann@example.com')
  const found = await again.readsAll(`/channels/${channel.id}/messages`)
  expect(found.map(({ seq }) => seq)).toEqual(found.map((_, index) => index + 1))
  expect(found.slice(0, until)).toEqual(sender.acknowledged.slice(0, until))
  expect(sender.acknowledged.slice(0, found.length)).toEqual(found)

  // An old cursor is refused, and new messages arrive.
  const resumed = await again.opensStream(cursor)
  expect(resumed.connected.payload.resumed).toBe(false)
  const next = await again.says('life goes on', channel)
  expect(next.seq).toBe(found.length + 1)
  await resumed.waitFor('NEW_MESSAGE', { id: next.id })
  await resumed.close()
})

/**
 * PostgreSQL's low-level backup: the files may be copied in any way between the two calls, and the log must be copied
 * last.
 */
async function backUp(from: string, to: string) {
  const client = await connect(from)
  await client.query(`select pg_backup_start('test', fast => true)`)
  await copy(from, to, 'secrets')
  await copy(from, to, 'postgres', ['postmaster.pid', 'postgres.log', 'port'])
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  await copy(from, to, 'postgres/data/pg_wal')
  const label = path.join(to, 'postgres/data/backup_label')
  await run('cp', ['--archive', path.join(to, 'postgres/data/PG_VERSION'), label])
  await writeFile(label, rows[0]!.labelfile)
  await client.end()
}

async function connect(directory: string) {
  const kept = async (name: string) => (await readFile(path.join(directory, 'postgres', name), 'utf8')).trim()
  const address = { host: '127.0.0.1', port: Number(await kept('port')), password: await kept('password') }
  const client = new pg.Client({ ...address, user: 'parley', database: 'parley' })
  await client.connect()
  return client
}

/** Copies files with their owners. PostgreSQL repairs files that change or disappear during the copy. */
async function copy(from: string, to: string, part: string, without: string[] = []) {
  const archive = path.join(to, 'part.tar')
  const excluded = without.map((name) => `--exclude=${name}`)
  const warnings = ['--warning=no-file-changed', '--warning=no-file-removed', '--ignore-failed-read']
  // Exit code 1: a file changed while it was read.
  await run('tar', ['--create', ...warnings, ...excluded, '--file', archive, '--directory', from, part]).catch(
    (error) => {
      if (error.code !== 1) throw error
    },
  )
  await run('tar', ['--extract', '--same-owner', '--preserve-permissions', '--file', archive, '--directory', to])
  await rm(archive)
}
