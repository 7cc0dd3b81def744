import type { Database } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { OpenStream } from '../streams/stream.ts'
import { findCurrent } from './consumers.queries.ts'

interface ConsumerStreamsParts {
  db: Database
  streams: OpenStreams
  logger: Logger
}

export type ConsumerStreams = ReturnType<typeof createConsumerStreams>

const periodMs = 1_000

/**
 * The streams of consumers on this node. Of a consumer only the newest stream stays open. The row in PostgreSQL names
 * it. While there are such streams on this node, the rows are read every second.
 */
export function createConsumerStreams({ db, streams, logger }: ConsumerStreamsParts) {
  /** By the stream id in the consumer's row. */
  const open = new Map<string, OpenStream>()
  let timer: NodeJS.Timeout | undefined
  let isChecking = false
  let isFailing = false

  async function check() {
    for (const [id, stream] of open) if (stream.isEnded) open.delete(id)
    if (open.size === 0 || isChecking) return
    isChecking = true
    try {
      const asked = [...open]
      const userIds = [...new Set(asked.map(([, { person }]) => person.userId))]
      const current = await findCurrent(
        db,
        userIds,
        asked.map(([id]) => id),
      )
      for (const [id, stream] of asked) if (!current.has(id)) streams.end(stream, 'replaced')
      isFailing = false
    } catch (err) {
      if (!isFailing) logger.warn({ err }, 'the newest streams of consumers cannot be read')
      isFailing = true
    } finally {
      isChecking = false
    }
  }

  return {
    add: (id: string, stream: OpenStream) => void open.set(id, stream),
    start() {
      timer = setInterval(check, periodMs)
    },
    stop() {
      clearInterval(timer)
    },
  }
}
