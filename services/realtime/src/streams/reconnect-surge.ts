/**
 * The number of streams opened within a second that counts as a surge, if it is also a hundredth of all streams. The
 * usual start of a working day has far fewer.
 */
const surgeStreams = 100
const surgeShare = 0.01
const halfMs = 500

/**
 * Detects that clients reconnect all at once. `open` returns the number of open streams, and `now` a monotonic time in
 * milliseconds.
 */
export function createReconnectSurge(open: () => number, now: () => number = () => performance.now()) {
  let half = 0
  let inThisHalf = 0
  let inThePrevious = 0

  function moveOn() {
    const current = Math.floor(now() / halfMs)
    if (current === half) return
    inThePrevious = current === half + 1 ? inThisHalf : 0
    inThisHalf = 0
    half = current
  }

  return {
    countOpened() {
      moveOn()
      inThisHalf++
    },
    isOn() {
      moveOn()
      return inThisHalf + inThePrevious >= Math.max(surgeStreams, open() * surgeShare)
    },
  }
}
