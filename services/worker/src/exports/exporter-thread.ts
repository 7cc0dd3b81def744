import { parentPort, workerData } from 'node:worker_threads'
import { openBlobs } from '@parley/blobs'
import { connectDatabase } from '@parley/database'
import { computeExport } from './compute-export.ts'
import type { ExporterAnswer, ExporterOrder, ExporterSettings } from './exporter.ts'

/*
 * The program of the thread in which a worker computes exports.
 */

const config = workerData as ExporterSettings
const { db, pool } = connectDatabase({
  url: config.database.url,
  ca: config.database.tls.ca,
  // One connection is for the snapshot, and one for the parts.
  poolSize: 2,
  applicationName: 'parley-worker-export',
  pooler: config.database.pooler,
  preparedStatements: config.database.preparedStatements,
  // The next query opens another connection.
  onIdleError: () => {},
})
const blobs = openBlobs({ storage: config.storage, db })
let stopping = new AbortController()

parentPort!.on('message', async (order: ExporterOrder) => {
  if (order === 'stop') return stopping.abort(new Error('this worker is stopping'))
  stopping = new AbortController()
  const failure = await computeExport({ config, db, pool, blobs, clock: Date.now }, order, stopping.signal).then(
    () => undefined,
    (error: Error) => error,
  )
  parentPort!.postMessage({ failure } satisfies ExporterAnswer)
})
