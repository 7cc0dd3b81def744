import { ClientLeft } from '@parley/service'
import type { FastifyReply } from 'fastify'
import type { Dispatcher } from 'undici'
import { replyHeaders } from './headers.ts'
import type { Pools, Replica } from './replica.ts'

/** Time a client has to read the end of its stream. */
const lastWordsMs = 5_000

export type Outcome =
  /** The reply went to the client, or broke off on its way. */
  | { kind: 'answered' }
  /** Nothing was sent: safe to send elsewhere, whatever the method. */
  | { kind: 'unreachable'; error: Error }
  /** It was sent, and no reply begun. */
  | { kind: 'lost'; error: Error }
  | { kind: 'client left'; error: ClientLeft }

/**
 * Sends one request to one replica and streams its reply to the client. Downloads and event streams go at the client's pace. Any
 * other reply is taken from the replica at once, or a client that does not read would hold the connection. Whichever of both ends first
 * ends the other; a replica that falls silent counts as ended.
 */
export function attempt(
  replica: Replica,
  pool: keyof Pools,
  options: Dispatcher.DispatchOptions,
  reply: FastifyReply,
): Promise<Outcome> {
  const { raw } = reply
  const isStream = pool === 'streams'
  const keepsPace = isStream || pool === 'downloads'
  return new Promise((resolve) => {
    let exchange: Dispatcher.DispatchController | undefined
    let begun = false
    const leave = () => exchange?.abort(new ClientLeft())
    const isOver = replica.whileItAnswers(() => {
      if (exchange) exchange.abort(new ReplicaSilent())
      // Still waiting for its turn on a connection: it must not be sent any more.
      else isGivenUp = true
    })
    let isGivenUp = false
    const settle = (outcome: Outcome) => {
      raw.off('close', leave)
      isOver()
      resolve(outcome)
    }
    raw.on('close', leave)

    replica.pools[pool].dispatch(options, {
      onRequestStart(controller) {
        if (isGivenUp) return controller.abort(new ReplicaSilent())
        exchange = controller
        if (raw.destroyed) controller.abort(new ClientLeft())
      },
      onResponseStart(controller, status) {
        if (status < 200) return
        begun = true
        reply.hijack()
        // A stream ends with its connection, so that its bytes need no frame of their own.
        if (isStream) raw.removeHeader('transfer-encoding')
        raw.writeHead(status, replyHeaders(controller.rawHeaders as Buffer[], reply))
        // The head of a stream must not wait for its first event.
        if (isStream) raw.flushHeaders()
      },
      onResponseData(controller, chunk) {
        if (raw.writableEnded) return controller.abort(new ClientLeft())
        // Thousands of streams: past the response, which would cork and uncork its socket for each chunk.
        const to = isStream ? (raw.socket ?? raw) : raw
        if (to.write(chunk) || !keepsPace) return
        controller.pause()
        to.once('drain', () => controller.resume())
      },
      onResponseEnd() {
        raw.end()
        // Who does not read what is sent does not read the end of a stream either.
        if (isStream) setTimeout(() => raw.destroy(), lastWordsMs).unref()
        settle({ kind: 'answered' })
      },
      onResponseError(_controller, error) {
        if (begun) {
          const facts = { requestId: reply.request.id, route: reply.request.routeOptions.url }
          if (raw.destroyed) reply.log.debug(facts, 'the client left before the end of its reply')
          else reply.log.warn({ err: error, ...facts }, 'a reply broke off')
          // The client must see that the reply is not whole.
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

/** It holds the connection and gives no sign of life. */
class ReplicaSilent extends Error {
  override readonly name = 'ReplicaSilent'

  constructor() {
    super('the replica gives no sign of life')
  }
}
