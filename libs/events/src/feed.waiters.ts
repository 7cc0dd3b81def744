/** Those who wait for a position to be reached. */
export interface Waiters {
  wait(pos: number, timeoutMs: number): Promise<boolean>
  reached(position: number): void
  giveUp(): void
}

export function createWaiters(): Waiters {
  const waiting = new Set<{ pos: number; settle(reached: boolean): void }>()

  return {
    wait: (pos, timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => waiter.settle(false), timeoutMs)
        const waiter = {
          pos,
          settle(reached: boolean) {
            clearTimeout(timer)
            waiting.delete(waiter)
            resolve(reached)
          },
        }
        waiting.add(waiter)
      }),
    reached(position) {
      for (const waiter of waiting) if (waiter.pos <= position) waiter.settle(true)
    },
    giveUp() {
      for (const waiter of waiting) waiter.settle(false)
    },
  }
}
