/** A bell: rung once or often, it wakes the one who waits, or who will wait next. */
export interface Signal {
  ring(): void
  /** Resolves at the next ring, at once when it was rung since the last wait, and after `ms` at the latest. */
  wait(ms: number): Promise<void>
}

export function createSignal(): Signal {
  let rung = false
  let wake: (() => void) | undefined

  return {
    ring() {
      rung = true
      wake?.()
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
      }
      rung = false
    },
  }
}
