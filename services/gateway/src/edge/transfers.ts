import { tooMany } from '@parley/contract'
import { ClientLeft, clientOf, type Deps } from '@parley/service'
import type { FastifyInstance } from 'fastify'
import { routingTable, type Transfer } from '../routing-table.ts'

/** Of one client; more than that is no page full of images any more. */
const mostWaiting = 200
const patienceMs = 20_000

/**
 * Uploads and downloads last as long as the client likes, so each person has so many at once and no more. Further ones wait for their
 * turn: a page may show more images than that.
 * @throws ApiError 429 when too many wait already, or for too long.
 */
export function boundTransfers(app: FastifyInstance, { server }: Deps['config']): void {
  const turns = { upload: createTurns(server.uploadsPerPerson), download: createTurns(server.downloadsPerPerson) }
  const transfers = new Map<string | undefined, Transfer>(
    routingTable.flatMap(({ path, transfer }) => (transfer ? [[path, transfer]] : [])),
  )

  app.addHook('preParsing', (request, reply, _payload, done) => {
    const transfer = transfers.get(request.routeOptions.url)
    if (transfer === undefined) return done()
    // It left while the hooks before this one waited, and would never give its turn back.
    if (reply.raw.destroyed) return done(new ClientLeft())
    const leave = turns[transfer].enter(clientOf(request), (error) => {
      // A client that left meanwhile has given its turn back.
      if (error || !reply.raw.destroyed) done(error)
    })
    reply.raw.once('close', leave)
  })
}

interface Line {
  underWay: number
  waiting: Set<() => void>
}

function createTurns(most: number) {
  const lines = new Map<string, Line>()

  function leave(client: string, line: Line) {
    line.underWay--
    const [next] = line.waiting
    if (next) next()
    else if (line.underWay === 0) lines.delete(client)
  }

  return {
    /** Calls `go` when it is this client's turn, or with why it is not. Returns the way to leave, to be called once. */
    enter(client: string, go: (refusal?: Error) => void): () => void {
      const line = lines.get(client) ?? { underWay: 0, waiting: new Set() }
      lines.set(client, line)
      if (line.underWay < most) {
        line.underWay++
        go()
        return () => leave(client, line)
      }
      if (line.waiting.size >= mostWaiting) {
        go(tooManyAtOnce())
        return () => {}
      }
      let isIn = false
      const stopWaiting = () => {
        clearTimeout(patience)
        line.waiting.delete(begin)
      }
      const begin = () => {
        stopWaiting()
        isIn = true
        line.underWay++
        go()
      }
      const patience = setTimeout(() => {
        stopWaiting()
        go(tooManyAtOnce())
      }, patienceMs)
      line.waiting.add(begin)
      return () => (isIn ? leave(client, line) : stopWaiting())
    },
  }
}

const tooManyAtOnce = () => tooMany('You have too many uploads or downloads under way', 5)
