/** Those who wait for something that happens at some time. What they wait for is looked for again after each change. */
export class Waiters {
  #looks = new Set<() => void>()

  /** Call it after each change. */
  look(): void {
    for (const look of this.#looks) look()
  }

  /**
   * Resolves with the first result of `find` that is not undefined.
   * @throws what `find` throws; an error with the sentence of `explain` after `timeoutMs`.
   */
  find<Result>(find: () => Result | undefined, explain: () => string, timeoutMs: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      const finish = (act: () => void) => {
        clearTimeout(timer)
        this.#looks.delete(look)
        act()
      }
      const look = () => {
        try {
          const found = find()
          if (found !== undefined) finish(() => resolve(found))
        } catch (error) {
          finish(() => reject(error))
        }
      }
      const timer = setTimeout(() => finish(() => reject(new Error(explain()))), timeoutMs)
      this.#looks.add(look)
      look()
    })
  }

  /** Resolves when `isDone` returns true. @throws as `find`. */
  async until(isDone: () => boolean, explain: () => string, timeoutMs: number): Promise<void> {
    await this.find(() => isDone() || undefined, explain, timeoutMs)
  }
}
