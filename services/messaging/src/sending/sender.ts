import { enrolmentRequired, sessionEnded, stillRunning, unavailable } from '@parley/contract'
import { type Connection, type Database, isActiveText, keyLifetimeMs, keyReused } from '@parley/database'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import { createChannelQueues, type TakenSends } from './channel-queues.ts'
import { createJoining } from './joining.ts'
import { afterCommit, type CommittedMessage } from './new-message.ts'
import { sendBatch } from './send-batch.ts'
import { rejectLate } from './send-outcomes.ts'
import { type SendStatement, sendWaiting, sendWithoutWaiting } from './send-statement.ts'
import { type Sending, type SendRequest, toSending } from './sending.ts'

export interface SenderOptions {
  db: Database
  pool: Connection['pool']
  logger: Logger
  metrics: Metrics
  /** Epoch milliseconds. */
  clock: () => number
  /** Called after each commit. */
  wakeRelay: () => void
  /** How long a send is retried while the database does not answer. */
  deadlineMs?: number
  /** The number of sends that may wait at the same time. */
  queueLimit?: number
}

export interface Sender {
  /**
   * Stores a message, in one statement with the other sends of this process. Resolves with the JSON text of the Message after the
   * commit.
   * @throws ApiError 401, 403, 404, 400 (quote, reused key), 409 (key still in use), 503 (too many sends wait, or no database).
   */
  send(request: SendRequest): Promise<string>
  /** Stops the timers. Call it after the last send has ended. */
  close(): void
}

/** The number of statements that run at the same time and never wait for a channel. */
const maxRunning = 2
/** A statement costs as much as a dozen messages. With fewer waiting sends than this, a second statement would be slower. */
const secondStatementFrom = 24
/** Statements that wait for a locked channel use at most this part of the pool. Each of them waits for one channel. */
const waitingShare = 0.4
const maxRunningWaiting = 4
/** The transactions in which authors join channels use at most this part of the pool. */
const joiningShare = 0.2
const maxJoining = 4
const batchLimit = 256
const retryContendedMs = 50

/** Stores the messages of one process with shared statements. `sender-traps.test.ts` tests the races that it must avoid. */
export function createSender(options: SenderOptions): Sender {
  const { pool, logger, clock, deadlineMs = 10_000, queueLimit = 10_000 } = options
  const runningWaitingLimit = Math.min(maxRunningWaiting, Math.floor(pool.options.max * waitingShare))
  const queues = createChannelQueues()
  const runningKeys = new Set<string>()
  const batchSize = options.metrics.histogram(metric.sendBatchSize).with()
  const expiry = setInterval(dropLate, 500).unref()
  const joining = createJoining({
    ...options,
    maxChannels: Math.max(1, Math.min(maxJoining, Math.floor(pool.options.max * joiningShare))),
    sendAgain,
  })
  const batchOptions = { pool, logger, clock, onStored }
  let running = 0
  let runningWaiting = 0
  let scheduled = false
  let contendedRetry: NodeJS.Timeout | undefined

  return {
    async send(request) {
      if (queues.size + joining.size >= queueLimit)
        throw unavailable('Too many messages are being sent right now. Please try again')
      if (!request.idempotency) return enqueue(request)

      const key = `${request.caller.userId} ${request.idempotency.key}`
      if (runningKeys.has(key)) return findResponseToRepetition(pool, request, clock())
      runningKeys.add(key)
      try {
        return await enqueue(request)
      } finally {
        runningKeys.delete(key)
      }
    },
    close() {
      clearInterval(expiry)
      clearTimeout(contendedRetry)
    },
  }

  function enqueue(request: SendRequest) {
    return new Promise<string>((resolve, reject) => {
      const now = clock()
      queues.add(toSending(request, { createdAt: now, deadline: now + deadlineMs, resolve, reject }))
      schedule()
    })
  }

  function sendAgain(sends: readonly Sending[]) {
    for (const sending of sends) if (!rejectLate(sending, clock())) queues.add(sending)
    schedule()
  }

  function dropLate() {
    queues.retain((sending) => !rejectLate(sending, clock()))
    joining.releaseLate()
  }

  /** All sends of one turn of the event loop share a statement. */
  function schedule() {
    if (scheduled) return
    scheduled = true
    setImmediate(pump)
  }

  function pump() {
    scheduled = false
    while (queues.hasReady && (running === 0 || (running < maxRunning && queues.size >= secondStatementFrom))) {
      running++
      void run(queues.take(batchLimit), sendWithoutWaiting).then(() => {
        running--
        pump()
      })
    }
    while (runningWaiting < runningWaitingLimit && queues.hasContended) {
      runningWaiting++
      void run(queues.takeContended(batchLimit), sendWaiting).then(() => {
        runningWaiting--
        pump()
      })
    }
    // No further connection may wait. The other contended channels are retried regularly by the statement that does not wait.
    if (queues.hasContended) {
      contendedRetry ??= setTimeout(() => {
        contendedRetry = undefined
        queues.retryContended()
        pump()
      }, retryContendedMs)
    }
  }

  async function run(taken: TakenSends, statement: SendStatement) {
    try {
      const unanswered = taken.batch.length === 0 ? [] : await sendBatch(batchOptions, taken.batch, statement)
      const again = unanswered.filter(({ sending }) => !rejectLate(sending, clock()))
      const unjoined = again.filter(({ outcome }) => outcome === 'unjoined')
      queues.release(
        taken.queues,
        again.filter(({ outcome }) => outcome !== 'unjoined'),
      )
      joining.add(unjoined.map(({ sending }) => sending))
    } catch (err) {
      logger.error({ err }, 'a shared send failed unexpectedly')
      for (const sending of taken.batch) sending.reject(err as Error)
      queues.release(taken.queues, [])
    }
  }

  function onStored(stored: readonly CommittedMessage[]) {
    batchSize.record(stored.length)
    afterCommit(options, stored)
  }
}

interface FirstResponse {
  answer: string | null
  isSame: boolean | null
  mustEnrol: boolean
}

/**
 * The stored response to a send while this process handles another send with the same key. If both repeat an earlier request, its
 * response is stored already (the column `answer`). @throws ApiError 401, 403 (a second factor is required), 400 (the key was used for
 * another request), 409 (the first request is still running).
 */
async function findResponseToRepetition(
  pool: Connection['pool'],
  { caller, idempotency }: SendRequest,
  now: number,
): Promise<string> {
  const { rows } = await pool.query<FirstResponse>(
    `select k.answer, k.request_hash = decode($4, 'hex') as "isSame", s.must_enrol as "mustEnrol"
     from sessions s
       join users u on u.id = s.user_id and coalesce(u.removed_at, 0) = 0 and ${isActiveText('u', '$6')}
       left join idempotency_keys k on k.user_id = u.id and k.key = $3 and k.created_at > $5
     where s.id = $1 and s.user_id = $2 and coalesce(s.ended_at, 0) = 0 and s.expires_at > $6`,
    [caller.sessionId, caller.userId, idempotency?.key, idempotency?.requestHash, now - keyLifetimeMs, now],
  )
  const [found] = rows
  if (!found) throw sessionEnded()
  if (found.mustEnrol) throw enrolmentRequired()
  if (found.answer === null) throw stillRunning()
  if (!found.isSame) throw keyReused()
  return found.answer
}
