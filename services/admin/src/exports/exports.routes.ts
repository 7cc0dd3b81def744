import { pipeline, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { lockCallerAsAdmin, type RequestContext } from '@parley/accounts'
import { type BlobStore, exportPartKey } from '@parley/blobs'
import { ApiError, IdempotencyHeaders, notFound, refusals, unavailable } from '@parley/contract'
import { audit, claimOf, once, recordJob, type Transaction, uuidv7 } from '@parley/database'
import { findCaller, requireAdmin } from '@parley/identity'
import { ClientLeft, type Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type ExportPart, findExport, findWaitingExport, insertExport, listParts } from './exports.queries.ts'
import { Export, ExportDocument, type ExportRow, exportView } from './exports.schema.ts'

const ExportAll = {
  summary: 'Download everything on this server as one JSON document',
  description:
    'The document has direct messages, but no secrets and no bytes of files. A worker computes it. The response is streamed when the document is ' +
    'complete, and may begin with white space that keeps the connection alive. A 503 names the address at which it can be downloaded later.',
  response: { 200: Type.Unsafe<Readable>(ExportDocument), ...refusals(401, 403, 503) },
}

const CreateExport = {
  summary: 'Create an export of everything on this server',
  headers: IdempotencyHeaders,
  description: 'For large servers: create the export, follow its progress, and download it when its state is `ready`.',
  response: { 202: Export, ...refusals(400, 401, 403, 409) },
}

const ExportParams = Type.Object({ exportId: Type.String() })

const GetExport = {
  summary: 'Get the state and the progress of an export',
  params: ExportParams,
  response: { 200: Export, ...refusals(401, 403, 404) },
}

const DownloadExport = {
  summary: 'Download the document of an export, compressed with gzip',
  description: 'The same document as `GET /admin/export`. 404 while the export is not ready, and after it has expired.',
  params: ExportParams,
  response: {
    200: Type.Unsafe<Readable>({ type: 'string', contentMediaType: 'application/gzip' }),
    ...refusals(401, 403, 404),
  },
}

export interface ExportTimes {
  /** How long a request waits before it sends anything. Proxies usually wait for a minute. */
  quietMs: number
  /** Interval in which a running download checks that its caller is still an admin. */
  accessMs: number
}
/** Interval of the white space that keeps a connection alive while a worker computes the export. */
const keepAliveMs = 5_000
/** After this time a client has to use `POST /admin/exports` instead. */
const maxWaitMs = 3_600_000
const pollMs = { first: 30, max: 500 }

export const exportRoutes =
  (deps: Deps, { quietMs, accessMs }: ExportTimes = { quietMs: 25_000, accessMs: 1_000 }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, blobs, clock, wakeRelay } = deps
    const config = { access: 'admin' } as const
    /** For routes that have their own HEAD route. */
    const withoutHead = { config, exposeHeadRoute: false }

    app.get('/admin/export', { schema: ExportAll, ...withoutHead }, async ({ caller, claims, ip, raw }, reply) => {
      const created = await findOrCreateExport(deps, { caller, ip, now: clock() })
      wakeRelay()
      const openDocument = async (row: ExportRow) => decompress(await openParts(row, claims))
      const row = await awaitExport(created, quietMs, () => raw.destroyed || reply.raw.destroyed)
      if (row.state === 'waiting') throw notYet(row)
      const body =
        row.state === 'ready'
          ? await openDocument(row)
          : Readable.from(streamWhenReady(row, openDocument), { objectMode: false })

      reply.type('application/json; charset=utf-8').header('content-disposition', attachmentOf(row, '.json'))
      return reply.send(body)
    })
    // HEAD computes nothing, because its response has no body.
    app.head('/admin/export', { schema: { hide: true }, config }, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(),
    )

    app.post('/admin/exports', { schema: CreateExport, config }, async ({ caller, ip, headers }, reply) => {
      const key = headers['idempotency-key']
      const row = await createExport(deps, { caller, ip, now: clock() }, key)
      return reply.code(202).header('location', `/admin/exports/${row.id}`).send(exportView(row))
    })

    app.get('/admin/exports/:exportId', { schema: GetExport, config }, async ({ params }, reply) => {
      reply.header('cache-control', 'no-store')
      return exportView(await requireExport(params.exportId))
    })

    const download = '/admin/exports/:exportId/download'
    app.get(download, { schema: DownloadExport, ...withoutHead }, async ({ params, claims }, reply) => {
      const row = await setDownloadHeaders(params.exportId, reply)
      return reply.send(await openParts(row, claims))
    })
    app.head(download, { schema: { params: ExportParams, hide: true }, config }, async ({ params }, reply) => {
      await setDownloadHeaders(params.exportId, reply)
      return reply.send()
    })

    /** The compressed document, for as long as the caller is an admin. @throws ApiError 401, 403 for everybody else. */
    async function openParts(row: ExportRow, claims: FastifyRequest['claims']): Promise<Readable> {
      const requireAccess = async () => requireAdmin(await findCaller(db, claims, clock()))
      await requireAccess()
      const parts = readCompressed(blobs, await listParts(db, row))
      return Readable.from(whileAllowed(parts, requireAccess, accessMs), { objectMode: false })
    }

    /** Sets the headers of a download, and returns its export. @throws ApiError 404 when there is nothing to download. */
    async function setDownloadHeaders(id: string, reply: FastifyReply): Promise<ExportRow> {
      const row = await requireExport(id)
      if (row.state !== 'ready') throw notReady(row)
      reply
        .type('application/gzip')
        .header('content-length', row.size!)
        .header('content-disposition', attachmentOf(row, '.json.gz'))
      return row
    }

    async function requireExport(id: string): Promise<ExportRow> {
      const row = await findExport(db, id, clock())
      if (!row) throw notFound('export')
      return row
    }

    /**
     * Waits until the export is ready, for `timeoutMs` at most. Returns its row.
     * @throws ApiError 503 when the export failed, ClientLeft when `hasLeft` returns true.
     */
    async function awaitExport(created: ExportRow, timeoutMs: number, hasLeft: () => boolean): Promise<ExportRow> {
      const endMs = performance.now() + timeoutMs
      for (let pauseMs = pollMs.first; ; pauseMs = Math.min(pauseMs * 1.5, pollMs.max)) {
        const row = await findExport(db, created.id, clock())
        if (!row || row.state === 'failed') throw unavailable('The export could not be computed. Please try again')
        if (row.state === 'ready' || performance.now() >= endMs) return row
        if (hasLeft()) throw new ClientLeft()
        await delay(pauseMs)
      }
    }

    /** Sends white space until the export is ready, then the document. After a failure the response ends incomplete. */
    async function* streamWhenReady(
      running: ExportRow,
      openDocument: (row: ExportRow) => Promise<Readable>,
    ): AsyncGenerator<Buffer> {
      const endMs = performance.now() + maxWaitMs
      let row = running
      while (row.state !== 'ready') {
        if (performance.now() >= endMs) throw notYet(row)
        yield Buffer.from('\n')
        row = await awaitExport(row, keepAliveMs, () => false)
      }
      yield* (await openDocument(row)) as AsyncIterable<Buffer>
    }
  }

const notYet = ({ id }: ExportRow) =>
  unavailable(`The export is not ready yet. It will be at /admin/exports/${id}/download`, 30)

const notReady = ({ state }: ExportRow) =>
  new ApiError(
    404,
    'not_found',
    state === 'failed' ? 'This export failed: please create a new one' : 'This export is not ready yet',
  )

/** Creates an export, which a worker computes. It has an entry in the audit log even if it fails. */
function createExport({ db, config }: Deps, context: RequestContext, key?: string): Promise<ExportRow> {
  const claim = claimOf(context.caller.userId, key, 'POST /admin/exports')
  return once(db, { claim, now: context.now }, async (trx) => {
    await lockCallerAsAdmin(trx, context)
    return recordExport(trx, config, context)
  })
}

/**
 * An export of the caller that no worker has begun, or a new one. A client that repeats its request would otherwise
 * fill the queue. The snapshot of a waiting export is made after this request, too.
 */
function findOrCreateExport({ db, config }: Deps, context: RequestContext): Promise<ExportRow> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    return (await findWaitingExport(trx, context)) ?? (await recordExport(trx, config, context))
  })
}

/** Inserts an export, and records its job and its entry in the audit log. */
async function recordExport(
  trx: Transaction,
  config: Deps['config'],
  { caller, ip, now }: RequestContext,
): Promise<ExportRow> {
  const row = await insertExport(trx, {
    id: uuidv7(),
    requestedBy: caller.userId,
    state: 'waiting',
    createdAt: now,
    expiresAt: now + config.exports.keepHours * 3_600_000,
  })
  await recordJob(trx, 'compute-export', { exportId: row.id })
  await audit(trx, { action: 'export.create', actorId: caller.userId, targetType: 'export', targetId: row.id, ip })
  return row
}

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

/** The document as JSON. When either side fails, the other one is closed too. */
const decompress = (compressed: Readable): Readable => pipeline(compressed, createGunzip(), () => {})

/** `Content-Disposition` of an export. The file name has the time of the request. */
const attachmentOf = ({ createdAt }: { createdAt: number }, extension: string) =>
  `attachment; filename="parley-export-${new Date(createdAt).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}${extension}"`
