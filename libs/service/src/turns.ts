/**
 * Makes a function that runs the tasks of one key, such as a channel, one after the other. Tasks of other keys do not wait for them.
 * Transactions that lock the same row would wait for each other anyway, and each would hold a connection meanwhile. Here they wait without
 * one, so that the pool stays free for other requests.
 */
export function createTurns() {
  const lastOf = new Map<string, Promise<unknown>>()

  return function inTurn<T>(key: string, task: () => Promise<T>): Promise<T> {
    const turn = (lastOf.get(key) ?? Promise.resolve()).then(task, task)
    lastOf.set(key, turn)
    const forget = () => {
      if (lastOf.get(key) === turn) lastOf.delete(key)
    }
    turn.then(forget, forget)
    return turn
  }
}
