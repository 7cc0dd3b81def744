import { tooMany } from '@parley/contract'
import { ClientLeft, clientOf, type Deps } from '@parley/service'
import type { FastifyInstance } from 'fastify'
import { routingTable, type Transfer } from '../routing-table.ts'

/** How many transfers of one client may wait. No page shows more images at once. */
const maxWaiting = 200
const maxWaitMs = 20_000

/**
 * Limits how many uploads and downloads each client has at the same time, because a slow client may take very long for
 * them. Further transfers wait in a queue, because a page may show more images than the limit.
 * @throws ApiError 429 when too many are waiting, or one has waited too long.
 */
export function limitTransfers(app: FastifyInstance, { server }: Deps['config']): void {
  const queues = {
    upload: createTransferQueues(server.uploadsPerPerson),
    download: createTransferQueues(server.downloadsPerPerson),
  }
  const transfers = new Map<string | undefined, Transfer>(
    routingTable.flatMap(({ path, transfer }) => (transfer ? [[path, transfer]] : [])),
  )

  app.addHook('preParsing', (request, reply, _payload, done) => {
    const transfer = transfers.get(request.routeOptions.url)
    if (transfer === undefined) return done()
    // The client left during earlier hooks. Its close event was emitted already and could not end the transfer.
    if (reply.raw.destroyed) return done(new ClientLeft())
    const end = queues[transfer].start(clientOf(request), (error) => {
      // If the client left while it waited, its transfer has ended already.
      if (error || !reply.raw.destroyed) done(error)
    })
    reply.raw.once('close', end)
  })
}

interface TransferQueue {
  running: number
  waiting: Set<() => void>
}

/** One queue for each client, with `limit` running transfers. */
function createTransferQueues(limit: number) {
  const queues = new Map<string, TransferQueue>()

  function end(client: string, queue: TransferQueue) {
    queue.running--
    const [next] = queue.waiting
    if (next) next()
    else if (queue.running === 0) queues.delete(client)
  }

  return {
    /** Calls `begin` when the transfer may run, or with the refusal. Returns a function that ends the transfer. Call it once. */
    start(client: string, begin: (refusal?: Error) => void): () => void {
      const queue = queues.get(client) ?? { running: 0, waiting: new Set() }
      queues.set(client, queue)
      if (queue.running < limit) {
        queue.running++
        begin()
        return () => end(client, queue)
      }
      if (queue.waiting.size >= maxWaiting) {
        begin(tooManyAtOnce())
        return () => {}
      }
      let isRunning = false
      const stopWaiting = () => {
        clearTimeout(timer)
        queue.waiting.delete(run)
      }
      const run = () => {
        stopWaiting()
        isRunning = true
        queue.running++
        begin()
      }
      const timer = setTimeout(() => {
        stopWaiting()
        begin(tooManyAtOnce())
      }, maxWaitMs)
      queue.waiting.add(run)
      return () => (isRunning ? end(client, queue) : stopWaiting())
    },
  }
}

const tooManyAtOnce = () => tooMany('You have too many uploads or downloads at the same time', 5)
