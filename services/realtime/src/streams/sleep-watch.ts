import { setTimeout as delay } from 'node:timers/promises'

const beatMs = 250
/** Less than the two seconds within which a stream of an ended session must get no more events. */
const longestNapMs = 1_500
const retryMs = 250

export type SleepWatch = ReturnType<typeof createSleepWatch>

/**
 * Detects that this process was stopped for a while, by SIGSTOP, a debugger or missing processor time. Sessions may
 * have ended meanwhile, but their streams are still open. So after such a sleep nothing is written to any stream until
 * `endStreams` has ended these streams. `endStreams` throws while the database is unavailable.
 */
export function createSleepWatch(endStreams: () => Promise<void>) {
  let awakeAt = performance.now()
  let wakings = 0
  let waking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const isAwake = () => performance.now() - awakeAt < longestNapMs

  /** Resolves once the streams of ended sessions have ended, and at once when this process did not sleep. */
  function untilAwake(): Promise<void> {
    if (isAwake()) return Promise.resolve()
    waking ??= wakeUp().finally(() => {
      waking = undefined
    })
    return waking
  }

  async function wakeUp() {
    while (!isAwake()) {
      const begun = performance.now()
      try {
        await endStreams()
        awakeAt = begun
        wakings++
      } catch {
        // The session watch has logged it.
        await delay(retryMs)
      }
    }
  }

  return {
    start() {
      timer = setInterval(() => {
        if (isAwake()) awakeAt = performance.now()
        else void untilAwake()
      }, beatMs)
    },
    stop() {
      clearInterval(timer)
      awakeAt = Infinity
    },
    isAwake,
    untilAwake,
    /** How often this process has woken up. Values that were read before may be outdated. */
    get wakings() {
      return wakings
    },
  }
}
