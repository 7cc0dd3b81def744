import { ClientLeft } from '@parley/service'
import type { FastifyReply } from 'fastify'
import type { Dispatcher } from 'undici'
import { responseHeaders } from './headers.ts'
import type { Pools, Replica } from './replica.ts'

/** Time that a client has to read the end of its stream before its connection is closed. */
const closeAfterMs = 5_000

export interface ForwardParts {
  replica: Replica
  /** The connections to use. */
  pool: keyof Pools
  /** Called with the status when the response begins. */
  onStatus: (status: number) => void
}

export type ForwardOutcome =
  /** The response was passed on to the client, whole or in part. */
  | { kind: 'answered' }
  /** Nothing was sent, so any request may be sent to another replica. */
  | { kind: 'unreachable'; error: Error }
  /** The request was sent, and no response began. */
  | { kind: 'lost'; error: Error }
  | { kind: 'client left'; error: ClientLeft }

/**
 * Sends one request to one replica and streams its response to the client. Downloads and event streams are read from the
 * replica at the client's pace. Any other response is read at once, because otherwise a client that does not read would
 * hold the connection. When one side closes, the other is closed too. A replica that stops answering counts as closed.
 */
export function forwardRequest(
  { replica, pool, onStatus }: ForwardParts,
  options: Dispatcher.DispatchOptions,
  reply: FastifyReply,
): Promise<ForwardOutcome> {
  const { raw } = reply
  const isStream = pool === 'streams'
  const keepsPace = isStream || pool === 'downloads'
  return new Promise((resolve) => {
    let exchange: Dispatcher.DispatchController | undefined
    let begun = false
    const abort = () => exchange?.abort(new ClientLeft())
    let isGivenUp = false
    const endWatch = replica.watchExchange(() => {
      if (exchange) exchange.abort(new ReplicaSilent())
      // The request still waits for a connection and must not be sent later.
      else isGivenUp = true
    })
    const settle = (outcome: ForwardOutcome) => {
      raw.off('close', abort)
      endWatch()
      resolve(outcome)
    }
    raw.on('close', abort)

    replica.pools[pool].dispatch(options, {
      onRequestStart(controller) {
        if (isGivenUp) return controller.abort(new ReplicaSilent())
        exchange = controller
        if (raw.destroyed) controller.abort(new ClientLeft())
      },
      onResponseStart(controller, status) {
        if (status < 200) return
        begun = true
        onStatus(status)
        reply.hijack()
        // The end of a stream is the end of its connection, so it needs no chunked encoding.
        if (isStream) raw.removeHeader('transfer-encoding')
        raw.writeHead(status, responseHeaders(controller.rawHeaders as Buffer[], reply))
        // The head of a stream must not wait for its first event.
        if (isStream) raw.flushHeaders()
      },
      onResponseData(controller, chunk) {
        if (raw.writableEnded) return controller.abort(new ClientLeft())
        // Events are written directly to the socket, because with thousands of streams corking the response for each
        // chunk is too expensive.
        const to = isStream ? (raw.socket ?? raw) : raw
        if (to.write(chunk) || !keepsPace) return
        controller.pause()
        to.once('drain', () => controller.resume())
      },
      onResponseEnd() {
        raw.end()
        // A client that never reads its socket never sees the end of its stream either.
        if (isStream) setTimeout(() => raw.destroy(), closeAfterMs).unref()
        settle({ kind: 'answered' })
      },
      onResponseError(_controller, error) {
        if (begun) {
          const facts = { requestId: reply.request.id, route: reply.request.routeOptions.url }
          if (raw.destroyed) reply.log.debug(facts, 'the client left before the end of its response')
          else reply.log.warn({ err: error, ...facts }, 'a response ended early')
          // The client must see that the response is incomplete.
          raw.destroy()
          settle({ kind: 'answered' })
        } else if (raw.destroyed || error instanceof ClientLeft) {
          settle({ kind: 'client left', error: new ClientLeft() })
        } else {
          settle({ kind: exchange ? 'lost' : 'unreachable', error })
        }
      },
    })
  })
}

/** The replica keeps the connection open and does not answer its health checks. */
class ReplicaSilent extends Error {
  override readonly name = 'ReplicaSilent'

  constructor() {
    super('the replica does not answer health checks')
  }
}
