import type { Connections } from './connections.ts'
import { keepAliveFrame } from './frames.ts'

/** Writes a comment to every stream once in `seconds`, each second to a share of them. Returns the way to stop. */
export function keepAlive({ all, write }: Connections, seconds: number): () => void {
  let turn = 0
  const timer = setInterval(() => {
    turn = (turn + 1) % seconds
    for (const connection of all) {
      // Where something is still unsent, there is no silence to break.
      if (connection.turn % seconds === turn && connection.socket.writableLength === 0)
        write(connection, keepAliveFrame)
    }
  }, 1_000)
  return () => clearInterval(timer)
}
