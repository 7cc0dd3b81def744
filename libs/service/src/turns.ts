import { unavailable } from '@parley/contract'

/** The gateway waits a minute for a response. After this wait, there is still time for the longest statement. */
const longestWaitMs = 25_000

/**
 * Makes a function that runs the tasks of one key, such as a channel, one after the other. Tasks of other keys do not wait for them.
 * Transactions that lock the same row would wait for each other anyway, and each would hold a connection meanwhile. Here they wait without
 * one, so that the pool stays free for other requests. A task that has waited `waitMs` milliseconds for its turn is refused, and never runs.
 * So slow tasks do not delay later ones without end, and no task runs whose client has long given up.
 * @throws ApiError 503 when the turn does not come in time.
 */
export function createTurns({ waitMs = longestWaitMs } = {}) {
  const lastOf = new Map<string, Promise<void>>()

  return function inTurn<T>(key: string, task: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let isRefused = false
    const timer = setTimeout(() => {
      isRefused = true
      reject(unavailable('Earlier requests take too long. Please try again'))
    }, waitMs)
    const run = async () => {
      if (isRefused) return
      clearTimeout(timer)
      try {
        resolve(await task())
      } catch (error) {
        reject(error)
      }
    }
    const turn = (lastOf.get(key) ?? Promise.resolve()).then(run)
    lastOf.set(key, turn)
    void turn.then(() => {
      if (lastOf.get(key) === turn) lastOf.delete(key)
    })
    return promise
  }
}
