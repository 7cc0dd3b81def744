import { lstat, open, rename, rm, stat } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { audit, type Connection, uuidv7 } from '@parley/database'
import { exportDocument } from '@parley/worker/export-document'
import { type Command, operator, Refused, say, UsageError, withDatabase } from '../command.ts'

/** The reader of the output may pause for long, for example a pager. PostgreSQL ends an unread snapshot after 10 minutes. */
const readerTimeoutMs = 600_000

export const exportAll: Command = {
  name: 'export',
  summary: 'Writes everything on the server as one JSON document',
  details: `The same document as GET /admin/export: with direct messages, without secrets and without the bytes of files. It is one
snapshot of the database, and the server keeps running. The audit log names "${operator}" as its actor.`,
  options: [
    { name: 'out', value: 'PATH', description: 'Output file, compressed when it ends in .gz; - is standard output' },
    { name: 'force', description: 'Replaces an existing file' },
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
      readerTimeoutMs,
    )
  },
}

/** Writes the document to a file, which has another name until it is complete. Only its owner can read it. */
async function writeFile(path: string, connection: Connection, options: { replace: boolean }): Promise<void> {
  const draft = `${path}.${process.pid}.part`
  await requireFree(path, options)
  const file = await open(draft, 'wx', 0o600)
  try {
    await writeTo(file.createWriteStream({ flush: true }), connection, path.endsWith('.gz'))
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** A device, such as /dev/stdout, is never replaced. @throws Refused */
async function requireFree(path: string, { replace }: { replace: boolean }): Promise<void> {
  const link = await lstat(path).catch(unlessAbsent)
  if (!link) return
  const target = await stat(path).catch(unlessAbsent)
  if (target && !target.isFile()) throw new Refused(`${path} is not a file`)
  if (!replace) throw new Refused(`${path} already exists: --force replaces it`)
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

async function writeTo(target: Writable, { db, pool }: Connection, compressed = false): Promise<void> {
  await db
    .transaction()
    .execute((trx) =>
      audit(trx, { action: 'export.create', actorId: operator, targetType: 'export', targetId: uuidv7() }),
    )
  const document = Readable.from(exportDocument(pool), { highWaterMark: 2 })
  // Standard output does not keep its error in `errored`.
  let outputError: unknown
  target.once('error', (error) => {
    outputError = error
  })
  try {
    if (compressed) await pipeline(document, createGzip(), target)
    else await pipeline(document, target)
  } catch (error) {
    // PostgreSQL may fail with the same code, such as EPIPE.
    if (error !== outputError) throw error
    throw new Refused(`the output cannot be written: ${(error as Error).message}`)
  }
}
