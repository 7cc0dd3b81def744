import { ClientLeft } from '@parley/service'
import type { FastifyReply } from 'fastify'
import type { Dispatcher } from 'undici'
import { responseHeaders } from './headers.ts'
import type { Pools, Replica } from './replica.ts'

/** Time that a client has to read the end of its stream before its connection is closed. */
const closeAfterMs = 5_000

interface ForwardParts {
  replica: Replica
  /** The connections to use. */
  pool: keyof Pools
  /** Called with the status and the raw headers when the response begins. */
  onHead: (status: number, headers: readonly Buffer[]) => void
}

type ForwardOutcome =
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
  { replica, pool, onHead }: ForwardParts,
  options: Dispatcher.DispatchOptions,
  reply: FastifyReply,
): Promise<ForwardOutcome> {
  const { raw } = reply
  const isStream = pool === 'streams'
  const keepsPace = isStream || pool === 'downloads'
  return new Promise((resolve) => {
    /** Undefined while the request waits for a connection to the replica. */
    let exchange: Dispatcher.DispatchController | undefined
    /** Whether the response has begun. */
    let hasBegun = false
    /** Whether the replica was silent before the request had a connection. */
    let isGivenUp = false
    const abort = () => exchange?.abort(new ClientLeft())
    const endWatch = replica.watchExchange(() => {
      if (exchange) exchange.abort(new ReplicaSilent())
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
        // A request that is given up must not be sent later.
        if (isGivenUp) return controller.abort(new ReplicaSilent())
        exchange = controller
        if (raw.destroyed) controller.abort(new ClientLeft())
      },
      onResponseStart(controller, status) {
        if (status < 200) return
        hasBegun = true
        const headers = controller.rawHeaders as Buffer[]
        onHead(status, headers)
        sendHead(reply, status, { headers, isStream })
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
        if (hasBegun) {
          breakOff(reply, error)
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

function sendHead(
  reply: FastifyReply,
  status: number,
  { headers, isStream }: { headers: Buffer[]; isStream: boolean },
) {
  const { raw } = reply
  reply.hijack()
  // The end of a stream is the end of its connection, so it needs no chunked encoding.
  if (isStream) raw.removeHeader('transfer-encoding')
  raw.writeHead(status, responseHeaders(headers, reply))
  // The head of a stream must not wait for its first event.
  if (isStream) raw.flushHeaders()
}

/** Closes the connection of the client, which must see that the response is incomplete. */
function breakOff({ raw, request, log }: FastifyReply, error: Error) {
  const facts = { requestId: request.id, route: request.routeOptions.url }
  if (raw.destroyed) log.debug(facts, 'the client left before the end of its response')
  else log.warn({ err: error, ...facts }, 'a response ended early')
  raw.destroy()
}

/** The replica keeps the connection open and does not answer its health checks. */
class ReplicaSilent extends Error {
  override readonly name = 'ReplicaSilent'

  constructor() {
    super('the replica does not answer health checks')
  }
}
