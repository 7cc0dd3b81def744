import { pipeline, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { type BlobStore, exportPartKey } from '@parley/blobs'
import { unavailable } from '@parley/contract'
import { type AccessClaims, findCaller, requireAdmin } from '@parley/identity'
import { ClientLeft, type Deps } from '@parley/service'
import { type ExportPart, findExport, listParts } from './exports.queries.ts'
import type { ExportRow } from './exports.schema.ts'

/** Interval of the white space that keeps a connection alive while a worker computes the export. */
const keepAliveMs = 5_000
/** After this time a client has to use `POST /admin/exports` instead. */
const maxWaitMs = 3_600_000
const pollMs = { first: 30, max: 500 }

/** The compressed document, for as long as the caller is an admin. @throws ApiError 401, 403 for everybody else. */
export async function openCompressed(
  { db, blobs, clock }: Pick<Deps, 'db' | 'blobs' | 'clock'>,
  row: ExportRow,
  claims: AccessClaims,
  accessMs: number,
): Promise<Readable> {
  const requireAccess = async () => requireAdmin(await findCaller(db, claims, clock()))
  await requireAccess()
  const parts = readCompressed(blobs, await listParts(db, row))
  return Readable.from(whileAllowed(parts, requireAccess, accessMs), { objectMode: false })
}

/** The document as JSON. When either side fails, the other one is closed too. */
export const decompress = (compressed: Readable): Readable => pipeline(compressed, createGunzip(), () => {})

/** The compressed document, part after part, as fast as the client reads. */
async function* readCompressed(blobs: BlobStore, parts: readonly ExportPart[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield* (await blobs.get(exportPartKey(part))) as AsyncIterable<Buffer>
}

/**
 * Passes the bytes on, and calls `requireAccess` when `accessMs` have passed since its last call. When it throws, the response ends
 * incomplete: somebody who is demoted, deactivated or signed out while they download gets no more than what was sent already.
 */
async function* whileAllowed(
  bytes: AsyncIterable<Buffer>,
  requireAccess: () => Promise<void>,
  accessMs: number,
): AsyncGenerator<Buffer> {
  let checkedAt = performance.now()
  for await (const chunk of bytes) {
    if (performance.now() - checkedAt >= accessMs) {
      await requireAccess()
      checkedAt = performance.now()
    }
    yield chunk
  }
}

type Waiting = Pick<Deps, 'db' | 'clock'>

/** Sends white space until the export is ready, then the document that `open` returns. After a failure the response ends incomplete. */
export const streamWhenReady = (
  deps: Waiting,
  running: ExportRow,
  open: (row: ExportRow) => Promise<Readable>,
): Readable => Readable.from(readWhenReady(deps, running, open), { objectMode: false })

async function* readWhenReady(
  deps: Waiting,
  running: ExportRow,
  open: (row: ExportRow) => Promise<Readable>,
): AsyncGenerator<Buffer> {
  const endMs = performance.now() + maxWaitMs
  let row = running
  while (row.state !== 'ready') {
    if (performance.now() >= endMs) throw takesLonger(row)
    yield Buffer.from('\n')
    row = await awaitExport(deps, row, { timeoutMs: keepAliveMs })
  }
  yield* (await open(row)) as AsyncIterable<Buffer>
}

/**
 * Waits until the export is ready, for `timeoutMs` at most. Returns its row.
 * @throws ApiError 503 when the export failed, ClientLeft when `hasLeft` returns true.
 */
export async function awaitExport(
  { db, clock }: Waiting,
  { id }: ExportRow,
  { timeoutMs, hasLeft }: { timeoutMs: number; hasLeft?: () => boolean },
): Promise<ExportRow> {
  const endMs = performance.now() + timeoutMs
  for (let pauseMs = pollMs.first; ; pauseMs = Math.min(pauseMs * 1.5, pollMs.max)) {
    const row = await findExport(db, id, clock())
    if (!row || row.state === 'failed') throw unavailable('The export could not be computed. Please try again')
    if (row.state === 'ready' || performance.now() >= endMs) return row
    if (hasLeft?.()) throw new ClientLeft()
    await delay(pauseMs)
  }
}

/** The refusal of a request that has waited for its export: the client can download it later. */
export const takesLonger = ({ id }: ExportRow) =>
  unavailable(`The export is not ready yet. It will be at /admin/exports/${id}/download`, 30)
