import { tooMany } from '@parley/contract'
import { type Connection as DatabaseConnection, uuidv7 } from '@parley/database'
import { endPresence, enterStreams, keepNode, removeDeadNodes } from '@parley/presence'
import type { Logger } from '@parley/telemetry'
import type { Connections } from '../connections.ts'

export interface PlacesParts {
  pool: DatabaseConnection['pool']
  connections: Pick<Connections, 'people'>
  maxStreamsPerUser: number
  /** From somebody's last stream to `offline`. */
  offlineSeconds: number
  logger: Logger
}

/** Room for one stream, from before it is opened until it is in `connections`, or was not opened after all. */
export interface Place {
  leave(): void
}

export type Places = ReturnType<typeof createPlaces>

const batchSize = 500
const claimPatienceMs = 2_000
const retryMs = 250

/**
 * Keeps in PostgreSQL how many streams people have on this node: who is online follows from it, and the limit of streams
 * per person, which all nodes share. What changes while a statement is under way goes with the next, so a thousand people
 * who come at once are a few statements.
 */
export function createPlaces({ pool, connections, maxStreamsPerUser, offlineSeconds, logger }: PlacesParts) {
  const nodeId = uuidv7()
  const graceMs = offlineSeconds * 1_000
  const times = { graceMs, nodeLifeMs: graceMs / 2 }
  /** What PostgreSQL says of this node, 0 left out. */
  const entered = new Map<string, number>()
  const held = new Map<string, number>()
  const asking = new Map<string, ((isGranted: boolean) => void)[]>()
  const changed = new Set<string>()
  let writing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let tending: Promise<void> | undefined
  let isAway = false
  let isTended = false
  let isClosed = false

  const openOf = (userId: string) => (connections.people.get(userId)?.connections.size ?? 0) + (held.get(userId) ?? 0)

  const isEntered = (userId: string) => openOf(userId) === (entered.get(userId) ?? 0) && !asking.has(userId)

  /** Somebody may have more or fewer streams than before. */
  function count(userId: string) {
    if (isEntered(userId)) return
    changed.add(userId)
    write()
  }

  /**
   * Room for one more stream of this person. While PostgreSQL does not say, only this node's own limit holds.
   * @throws ApiError 429 when they have as many as they may, on all nodes together.
   */
  async function claim(userId: string): Promise<Place> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    asking.set(userId, [...(asking.get(userId) ?? []), resolve])
    count(userId)
    const patience = setTimeout(grant, claimPatienceMs, userId, resolve)
    const isGranted = await promise
    clearTimeout(patience)
    if (!isGranted) throw tooMany('You have too many event streams open', 30)

    return {
      leave() {
        add(held, userId, -1)
        count(userId)
      },
    }
  }

  /** The place is held from this moment on, so that no statement in between takes it for free. */
  function grant(userId: string, answer: (isGranted: boolean) => void) {
    if (!withdraw(userId, answer)) return
    add(held, userId, 1)
    answer(true)
  }

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
    // Whoever comes in the same turn goes along.
    await new Promise(setImmediate)
    while (changed.size > 0) {
      const taken = changed.values().take(batchSize).toArray()
      for (const userId of taken) changed.delete(userId)
      // A place that was taken by its stream is the same number as before.
      const userIds = taken.filter((userId) => !isEntered(userId))
      if (userIds.length === 0) continue
      try {
        await enter(userIds)
        isAway = false
      } catch (err) {
        for (const userId of userIds) changed.add(userId)
        if (!isAway) logger.warn({ err }, 'open streams cannot be entered, it will be tried again')
        isAway = true
        if (isClosed) return
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  async function enter(userIds: string[]) {
    const claims = userIds.map((userId) => ({ userId, open: openOf(userId), answers: asking.get(userId) ?? [] }))
    const { granted, wasKnown } = await enterStreams(
      pool,
      nodeId,
      claims.map(({ userId, open, answers }) => ({ userId, open, asked: answers.length })),
      { ...times, maxStreams: maxStreamsPerUser },
    )
    for (const { userId, open, answers } of claims) {
      const streams = granted.get(userId) ?? 0
      if (streams > 0) entered.set(userId, streams)
      else entered.delete(userId)
      for (const [index, answer] of answers.entries()) {
        if (index < streams - open) grant(userId, answer)
        else if (withdraw(userId, answer)) answer(false)
      }
      count(userId)
    }
    if (!wasKnown) enterAnew()
  }

  /** Other nodes took this one for dead, or it has just begun. */
  function enterAnew() {
    entered.clear()
    for (const userId of [...connections.people.keys(), ...held.keys()]) count(userId)
  }

  /** Says that this node lives, and does for all what any node may do. */
  async function tend() {
    try {
      if (!(await keepNode(pool, nodeId))) enterAnew()
      await removeDeadNodes(pool, times)
      await endPresence(pool)
      isTended = true
    } catch (err) {
      isTended = false
      logger.debug({ err }, 'presence waits for the database')
    }
  }

  return {
    claim,
    count,
    async start() {
      await tend()
      timer = setInterval(
        () => {
          tending ??= tend().finally(() => {
            tending = undefined
          })
        },
        Math.min(1_000, graceMs / 20),
      )
    },
    /** Enters that nobody is here any more; what cannot be entered is found out by the other nodes. */
    async stop() {
      clearInterval(timer)
      isClosed = true
      await Promise.all([tending, writing])
      if (isTended && !isAway)
        await removeDeadNodes(pool, times, nodeId).catch((err) =>
          logger.debug({ err }, 'this node leaves without a word'),
        )
    },
  }
}

function add(counts: Map<string, number>, key: string, difference: number) {
  const count = (counts.get(key) ?? 0) + difference
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
