import type { Connection } from '@parley/database'
import { beginSnapshot, estimateRecords, findSettings, readSection, sections } from './export.document.queries.ts'

export interface Progress {
  /** Records that are in the document so far. */
  done: number
  /** How many there will be, at most; at the end `done` is exact. */
  total: number
}

/**
 * The export document (see the interface) as JSON text, in pieces of some hundred records, each record on a line of its own.
 * Everything is read from one snapshot, in one read-only transaction that lasts until the last piece was taken, and no more than
 * a piece is in memory. It has neither deleted things nor secrets, and not the bytes of files.
 * @throws the database's error; what was taken by then is no document.
 */
export async function* exportDocument(
  pool: Connection['pool'],
  onProgress: (progress: Progress) => void | Promise<void> = () => {},
): AsyncGenerator<string, void, void> {
  const client = await pool.connect()
  let isOver = false
  try {
    const exportedAt = await beginSnapshot(client)
    const progress = { done: 0, total: await estimateRecords(client) }
    await onProgress(progress)
    yield `{"exportedAt":${exportedAt},\n"serverSettings":${await findSettings(client)}`
    for (const section of sections) {
      yield `,\n"${section.name}":[`
      let separator = '\n'
      for await (const records of readSection(client, section)) {
        yield separator + records.join(',\n')
        separator = ',\n'
        progress.done += records.length
        await onProgress(progress)
      }
      yield '\n]'
    }
    yield '}\n'
    await client.query('commit')
    isOver = true
  } finally {
    // A connection in the middle of a snapshot is not one to hand on.
    client.release(!isOver)
  }
}
