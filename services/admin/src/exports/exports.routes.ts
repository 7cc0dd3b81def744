import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiError, IdempotencyHeaders, notFound, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { awaitExport, decompress, openCompressed, streamWhenReady, takesLonger } from './document-stream.ts'
import { findExport } from './exports.queries.ts'
import { Export, ExportDocument, type ExportRow, exportView } from './exports.schema.ts'
import { createExport, findOrCreateExport } from './new-export.ts'

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

interface ExportTimes {
  /** How long a request waits before it sends anything. Proxies usually wait for a minute. */
  quietMs: number
  /** Interval in which a running download checks that its caller is still an admin. */
  accessMs: number
}

export const exportRoutes =
  (deps: Deps, { quietMs, accessMs }: ExportTimes = { quietMs: 25_000, accessMs: 1_000 }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock, wakeRelay } = deps
    const config = { access: 'admin' } as const
    /** For routes that have their own HEAD route. */
    const withoutHead = { config, exposeHeadRoute: false }

    app.get('/admin/export', { schema: ExportAll, ...withoutHead }, async ({ caller, claims, ip, raw }, reply) => {
      const created = await findOrCreateExport(deps, { caller, ip, now: clock() })
      wakeRelay()
      const hasLeft = () => raw.destroyed || reply.raw.destroyed
      const row = await awaitExport(deps, created, { timeoutMs: quietMs, hasLeft })
      if (row.state === 'waiting') throw takesLonger(row)
      const open = async (ready: ExportRow) => decompress(await openCompressed(deps, ready, claims, accessMs))
      const body = row.state === 'ready' ? await open(row) : streamWhenReady(deps, row, open)

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
      return reply.send(await openCompressed(deps, row, claims, accessMs))
    })
    app.head(download, { schema: { params: ExportParams, hide: true }, config }, async ({ params }, reply) => {
      await setDownloadHeaders(params.exportId, reply)
      return reply.send()
    })

    /** Sets the headers of a download, and returns its export. @throws ApiError 404 when there is nothing to download. */
    async function setDownloadHeaders(id: string, reply: FastifyReply): Promise<ExportRow> {
      const row = await requireExport(id)
      if (row.state !== 'ready') throw noDocument(row)
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
  }

/** The refusal of a download of an export that is not ready. */
const noDocument = ({ state }: ExportRow) =>
  new ApiError(
    404,
    'not_found',
    state === 'failed' ? 'This export failed: please create a new one' : 'This export is not ready yet',
  )

/** `Content-Disposition` of an export. The file name has the time of the request. */
const attachmentOf = ({ createdAt }: { createdAt: number }, extension: string) =>
  `attachment; filename="parley-export-${new Date(createdAt).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}${extension}"`
