import { open, rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { audit, type Connection, uuidv7 } from '@parley/database'
import { exportDocument } from '@parley/worker/export-document'
import { type Command, operator, Refused, say, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'

/** A pager may stand still for a while; PostgreSQL ends a snapshot that nobody reads after 10 minutes. */
const readerPatienceMs = 600_000

export const exportAll: Command = {
  name: 'export',
  summary: 'Writes everything on the server as one JSON document',
  details: `The same document as GET /admin/export: direct messages too, no secrets, not the bytes of files. Read from the database, in
one snapshot, while the server runs on. Who takes it is in the audit log as "${operator}".`,
  options: [
    { name: 'out', value: 'PATH', description: 'Where to; compressed when it ends in .gz; - is standard output' },
    { name: 'force', description: 'Replaces a file that is there' },
  ],
  async run({ options, config }) {
    const out = (options.out as string | undefined) ?? '-'
    if (out === '-' && process.stdout.isTTY && options.out === undefined) throw new UsageError('--out is missing')
    await withDatabase(
      await config(),
      async (connection) => {
        if (out === '-') return writeTo(process.stdout, connection)
        await writeFile(out, connection, { replace: options.force === true })
        say(`Everything is in ${out}.`)
      },
      readerPatienceMs,
    )
  },
}

/** Under another name until it is whole; readable by nobody else. */
async function writeFile(path: string, connection: Connection, { replace }: { replace: boolean }): Promise<void> {
  const draft = `${path}.${process.pid}.part`
  const target = await open(path, 'r').catch(() => undefined)
  await target?.close()
  if (target && !replace) throw new Refused(`${path} already exists: --force replaces it`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await writeTo(file.createWriteStream({ flush: true }), connection, path.endsWith('.gz'))
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function writeTo(target: Writable, { db, pool }: Connection, compressed = false): Promise<void> {
  await db
    .transaction()
    .execute((trx) =>
      audit(trx, { action: 'export.create', actorId: operator, targetType: 'export', targetId: uuidv7() }),
    )
  const document = Readable.from(exportDocument(pool), { highWaterMark: 2 })
  if (compressed) await pipeline(document, createGzip(), target)
  else await pipeline(document, target)
}
