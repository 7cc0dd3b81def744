/** Streams opened within a second from which on the node is busy with that: an ordinary start of the day has far fewer. */
const manyStreams = 100
const halfMs = 500

export type Storm = ReturnType<typeof createStorm>

/** Tells whether clients are coming back all at once. `now` is in milliseconds and only grows. */
export function createStorm(now: () => number = () => performance.now()) {
  let half = 0
  let inThisHalf = 0
  let inTheOneBefore = 0

  function turn() {
    const current = Math.floor(now() / halfMs)
    if (current === half) return
    inTheOneBefore = current === half + 1 ? inThisHalf : 0
    inThisHalf = 0
    half = current
  }

  return {
    /** Another stream was opened. */
    opened() {
      turn()
      inThisHalf++
    },
    isOn() {
      turn()
      return inThisHalf + inTheOneBefore >= manyStreams
    },
  }
}
