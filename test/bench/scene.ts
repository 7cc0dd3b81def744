import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * What one measurement stands on, undone in the opposite order. On Ctrl-C it is undone under the measurement's feet:
 * from then on nothing more can be started, so that nothing is left running.
 */
export interface Scene {
  /** Starts something and registers how to end it. @throws when the scene is being undone. */
  keep<T>(start: () => T | Promise<T>, end: (started: T) => unknown): Promise<T>
  end(): Promise<void>
}

export function openScene(): Scene {
  const stack = new AsyncDisposableStack()
  const requireOpen = () => {
    if (stack.disposed) throw new Interrupted()
  }
  return {
    async keep(start, end) {
      requireOpen()
      const started = await start()
      if (stack.disposed) await end(started)
      requireOpen()
      stack.defer(async () => void (await end(started)))
      return started
    },
    end: () => stack.disposeAsync(),
  }
}

/** Thrown to whoever goes on after Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** A loopback port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
