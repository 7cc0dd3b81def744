import { keepAliveFrame } from './frames.ts'
import type { OpenStreams } from './open-streams.ts'
import type { SleepWatch } from './sleep-watch.ts'

interface KeepAliveParts {
  streams: Pick<OpenStreams, 'all' | 'write'>
  sleep: Pick<SleepWatch, 'isAwake'>
  seconds: number
}

/** Writes a comment to every stream once in `seconds`, each second to a part of the streams. */
export function createKeepAlive({ streams, sleep, seconds }: KeepAliveParts) {
  let timer: NodeJS.Timeout | undefined
  let turn = 0

  function writeToNext() {
    turn = (turn + 1) % seconds
    if (!sleep.isAwake()) return
    for (const stream of streams.all) {
      // A stream with unsent data is not idle.
      if (stream.number % seconds === turn && stream.socket.writableLength === 0) streams.write(stream, keepAliveFrame)
    }
  }

  return {
    start() {
      timer = setInterval(writeToNext, 1_000)
    },
    stop() {
      clearInterval(timer)
    },
  }
}
