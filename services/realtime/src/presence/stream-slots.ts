import { tooMany } from '@parley/contract'
import { type Connection as DatabaseConnection, uuidv7 } from '@parley/database'
import { endPresence, enterStreams, keepNode, removeDeadNodes } from '@parley/presence'
import type { Logger } from '@parley/telemetry'
import type { OpenStreams } from '../streams/open-streams.ts'

interface StreamSlotsParts {
  pool: DatabaseConnection['pool']
  streams: Pick<OpenStreams, 'people'>
  maxStreamsPerUser: number
  /** Time from the end of a person's last stream until they are `offline`. */
  offlineSeconds: number
  logger: Logger
}

/** A reservation for one stream. It is held until the stream is in `streams` or could not be opened. */
export interface StreamSlot {
  release(): void
}

export type StreamSlots = ReturnType<typeof createStreamSlots>

const batchSize = 500
const claimTimeoutMs = 2_000
const retryMs = 250

/**
 * Stores in PostgreSQL how many streams people have on this node. These numbers decide who is online, and enforce the
 * limit of streams per person on all nodes together. Changes during one statement are sent with the next one, so a
 * thousand people who connect at once need only a few statements.
 */
export function createStreamSlots({ pool, streams, maxStreamsPerUser, offlineSeconds, logger }: StreamSlotsParts) {
  const nodeId = uuidv7()
  const graceMs = offlineSeconds * 1_000
  const times = { graceMs, nodeLifeMs: graceMs / 2 }
  /** The numbers of this node that are in PostgreSQL, without zeros. */
  const entered = new Map<string, number>()
  /** The numbers of granted slots whose streams are not open yet. */
  const held = new Map<string, number>()
  /** The claims that wait for PostgreSQL. */
  const asking = new Map<string, ((isGranted: boolean) => void)[]>()
  /** The people whose numbers the next statement enters. */
  const changed = new Set<string>()
  let writing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let runningUpkeep: Promise<void> | undefined
  let isUnavailable = false
  let isAlive = false
  let isClosed = false

  /** The open streams of a person on this node, and the slots that are held for them. */
  const slotsOf = (userId: string) => (streams.people.get(userId)?.streams.size ?? 0) + (held.get(userId) ?? 0)

  /** Whether PostgreSQL has the current number of a person, and no claim of theirs waits. */
  const isEntered = (userId: string) => slotsOf(userId) === (entered.get(userId) ?? 0) && !asking.has(userId)

  /** Call it when the number of a person's streams may have changed. */
  function noteChange(userId: string) {
    if (isEntered(userId)) return
    changed.add(userId)
    write()
  }

  /**
   * Reserves one more stream for this person. While PostgreSQL does not answer, only this node's own limit holds.
   * @throws ApiError 429 when they have the largest allowed number, on all nodes together.
   */
  async function claim(userId: string): Promise<StreamSlot> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    asking.set(userId, [...(asking.get(userId) ?? []), resolve])
    noteChange(userId)
    const timeout = setTimeout(grant, claimTimeoutMs, userId, resolve)
    const isGranted = await promise
    clearTimeout(timeout)
    if (!isGranted) throw tooMany('You have too many event streams open', 30)

    return {
      release() {
        add(held, userId, -1)
        noteChange(userId)
      },
    }
  }

  /** Grants a slot, which is held from this moment on, so that no statement counts it as free meanwhile. */
  function grant(userId: string, answer: (isGranted: boolean) => void) {
    if (!withdraw(userId, answer)) return
    add(held, userId, 1)
    answer(true)
  }

  /** Takes a claim back. Returns false when it was answered already. */
  function withdraw(userId: string, answer: (isGranted: boolean) => void) {
    const waiting = asking.get(userId) ?? []
    const others = waiting.filter((each) => each !== answer)
    if (others.length > 0) asking.set(userId, others)
    else asking.delete(userId)
    return others.length < waiting.length
  }

  function write() {
    writing ??= writeAll().finally(() => {
      writing = undefined
      if (changed.size > 0 && !isClosed) write()
    })
  }

  async function writeAll() {
    // Claims of the same turn of the event loop share the statement.
    await new Promise(setImmediate)
    while (changed.size > 0) {
      const taken = changed.values().take(batchSize).toArray()
      for (const userId of taken) changed.delete(userId)
      // When a stream takes its slot, the number does not change.
      const userIds = taken.filter((userId) => !isEntered(userId))
      if (userIds.length === 0) continue
      try {
        await enter(userIds)
        isUnavailable = false
      } catch (err) {
        for (const userId of userIds) changed.add(userId)
        if (!isUnavailable) logger.warn({ err }, 'the numbers of open streams cannot be stored; it will be tried again')
        isUnavailable = true
        if (isClosed) return
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  async function enter(userIds: string[]) {
    const claims = userIds.map((userId) => ({ userId, open: slotsOf(userId), answers: asking.get(userId) ?? [] }))
    const { granted, wasKnown } = await enterStreams(
      pool,
      nodeId,
      claims.map(({ userId, open, answers }) => ({ userId, open, asked: answers.length })),
      { graceMs, maxStreams: maxStreamsPerUser },
    )
    for (const { userId, open, answers } of claims) {
      const slots = granted.get(userId) ?? 0
      if (slots > 0) entered.set(userId, slots)
      else entered.delete(userId)
      for (const [index, answer] of answers.entries()) {
        if (index < slots - open) grant(userId, answer)
        else if (withdraw(userId, answer)) answer(false)
      }
      noteChange(userId)
    }
    if (!wasKnown) enterAgain()
  }

  /** Stores all numbers again, because this node counted as dead or has just started. */
  function enterAgain() {
    entered.clear()
    for (const userId of [...streams.people.keys(), ...held.keys()]) noteChange(userId)
  }

  /** Reports that this node is alive, and does the upkeep that any node may do for all nodes. */
  async function upkeep() {
    try {
      if (!(await keepNode(pool, nodeId))) enterAgain()
      await removeDeadNodes(pool, times)
      await endPresence(pool)
      isAlive = true
    } catch (err) {
      isAlive = false
      logger.debug({ err }, 'the upkeep of presence failed; it will be tried again')
    }
  }

  return {
    claim,
    noteChange,
    async start() {
      await upkeep()
      timer = setInterval(
        () => {
          runningUpkeep ??= upkeep().finally(() => {
            runningUpkeep = undefined
          })
        },
        Math.min(1_000, graceMs / 20),
      )
    },
    /** Releases all slots of this node. If that fails, the other nodes notice that this node is dead. */
    async stop() {
      clearInterval(timer)
      isClosed = true
      await Promise.all([runningUpkeep, writing])
      if (isAlive && !isUnavailable)
        await removeDeadNodes(pool, times, nodeId).catch((err) =>
          logger.debug({ err }, 'node shut down without releasing its stream slots'),
        )
    },
  }
}

function add(counts: Map<string, number>, key: string, difference: number) {
  const count = (counts.get(key) ?? 0) + difference
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
