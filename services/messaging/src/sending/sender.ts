import { unavailable } from '@parley/contract'
import { type Connection, isRowId, uuidv7 } from '@parley/database'
import { foldReads } from '@parley/read-states'
import { currentTraceparent, type Logger, type Metrics, metric } from '@parley/telemetry'
import { createWaitingLines, type Draw } from './channel-queues.ts'
import { messageTail } from './new-message.ts'
import { attempt, inTime } from './send-batch.ts'
import { type SendStatement, sendWaiting, sendWithoutWaiting, textArrayLiteral } from './send-statement.ts'
import type { Sending, SendRequest } from './sending.ts'
import { findStoredAnswer } from './stored-answer.ts'

export interface SenderOptions {
  pool: Connection['pool']
  logger: Logger
  metrics: Metrics
  /** Epoch milliseconds. */
  clock: () => number
  /** Called after each commit. */
  wakeRelay: () => void
  /** How long a send is tried while the database is away. */
  deadlineMs?: number
  /** Most sends that may wait at once. */
  queueLimit?: number
}

export interface Sender {
  /**
   * Stores a message together with whatever else is being sent in this process. Resolves after the commit, with the
   * JSON text of the Message.
   * @throws ApiError 401, 403, 404, 400 (quote, reused key), 409 (key still running), 503 (too much waits, no database).
   */
  send(request: SendRequest): Promise<string>
  /** Call it when nothing is being sent any more. */
  close(): void
}

/** Statements in flight that never wait for a channel. */
const lanes = 2
/** A statement costs as much as a dozen messages in it: with fewer waiting, one lane and larger statements are faster. */
const secondLaneFrom = 24
/** Statements in flight that wait, each for one channel that somebody else has locked: at most this part of the pool. */
const waitingShare = 0.4
const mostWaitingLanes = 4
const batchLimit = 256

/** The shared send statement of one process: docs/architecture.md, "Write path", tells the traps it avoids. */
export function createSender(options: SenderOptions): Sender {
  const { pool, logger, clock, wakeRelay, deadlineMs = 10_000, queueLimit = 10_000 } = options
  const waitingLanes = Math.min(mostWaitingLanes, Math.floor(pool.options.max * waitingShare))
  const lines = createWaitingLines()
  const runningKeys = new Set<string>()
  const batchSize = options.metrics.histogram(metric.sendBatchSize).with()
  const expiry = setInterval(() => lines.retain((sending) => inTime(sending, clock())), 500).unref()
  const attempting = { pool, logger, clock, onStored, onMilestone }
  let running = 0
  let runningWaiting = 0
  let scheduled = false
  let relenting: NodeJS.Timeout | undefined

  return {
    async send(request) {
      if (lines.size >= queueLimit) throw unavailable('Too many messages are being sent right now. Please try again')
      if (!request.idempotency) return enqueue(request)

      const key = `${request.caller.userId} ${request.idempotency.key}`
      if (runningKeys.has(key)) return findStoredAnswer(pool, request, clock())
      runningKeys.add(key)
      try {
        return await enqueue(request)
      } finally {
        runningKeys.delete(key)
      }
    },
    close() {
      clearInterval(expiry)
      clearTimeout(relenting)
    },
  }

  function enqueue(request: SendRequest) {
    return new Promise<string>((resolve, reject) => {
      const now = clock()
      lines.add(toSending(request, now, now + deadlineMs, resolve, reject))
      schedule()
    })
  }

  /** What one turn of the event loop brings shares a statement. */
  function schedule() {
    if (scheduled) return
    scheduled = true
    setImmediate(pump)
  }

  function pump() {
    scheduled = false
    while (lines.hasReady && (running === 0 || (running < lanes && lines.size >= secondLaneFrom))) {
      running++
      void serve(lines.draw(batchLimit), sendWithoutWaiting).then(() => {
        running--
        pump()
      })
    }
    while (runningWaiting < waitingLanes && lines.hasContended) {
      runningWaiting++
      void serve(lines.drawContended(batchLimit), sendWaiting).then(() => {
        runningWaiting--
        pump()
      })
    }
    // No connection is left to wait with: these channels ask from time to time, without waiting.
    if (lines.hasContended) {
      relenting ??= setTimeout(() => {
        relenting = undefined
        lines.relent()
        pump()
      }, 50)
    }
  }

  async function serve(draw: Draw, statement: SendStatement) {
    try {
      const unsettled = draw.batch.length === 0 ? [] : await attempt(attempting, draw.batch, statement)
      const again = unsettled.filter(({ sending }) => inTime(sending, clock()))
      lines.release(draw.lines, again)
    } catch (err) {
      logger.error({ err }, 'a shared send failed unexpectedly')
      for (const sending of draw.batch) sending.reject(err as Error)
      lines.release(draw.lines, [])
    }
  }

  function onStored(count: number) {
    batchSize.record(count)
    wakeRelay()
  }

  /** Nobody waits for it: it only makes asking what is unread cheaper, and the next one makes up for it. */
  function onMilestone(channelId: string, seq: number) {
    foldReads(pool, channelId, seq).catch((err) => logger.warn({ err }, 'authors could not be entered as readers'))
  }
}

/** The send with its message id, ready for the statement. */
export function toSending(
  request: SendRequest,
  createdAt: number,
  deadline: number,
  resolve: (message: string) => void,
  reject: (error: Error) => void,
): Sending {
  const { caller, kind, channelId, content, attachments, images, quotedMessageId, mentions, nonce, idempotency } =
    request
  const direct = kind === 'conversation'
  const isId = isRowId(channelId)
  // What cannot be an id of a message is none: the nil UUID is nobody's.
  const quoted = quotedMessageId === null || isRowId(quotedMessageId) ? quotedMessageId : nilId
  return {
    id: uuidv7(),
    channelId: isId ? channelId : null,
    direct,
    userId: caller.userId,
    sessionId: caller.sessionId,
    content,
    // Ids go into it as they are: only ids may.
    tail: isId
      ? messageTail({
          channelId: direct ? `dm:${channelId}` : channelId,
          content,
          attachments,
          images,
          quotedMessageId: quoted,
          mentions,
          createdAt,
          nonce,
        })
      : '',
    quotedMessageId: quoted,
    attachments: attachments.length === 0 ? null : JSON.stringify(attachments),
    images: images.length === 0 ? null : textArrayLiteral(images),
    mentions: mentions.length === 0 ? null : textArrayLiteral(mentions),
    createdAt,
    trace: currentTraceparent(),
    key: idempotency?.key ?? null,
    requestHash: idempotency?.requestHash ?? null,
    deadline,
    resolve,
    reject,
  }
}

const nilId = '00000000-0000-0000-0000-000000000000'
