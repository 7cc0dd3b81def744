export type Chooser = ReturnType<typeof createChooser>

/** A generator of random choices. A seed always gives the same choices (Park and Miller's generator). */
export function createChooser(seed: number) {
  let state = (Math.abs(Math.trunc(seed)) % 2_147_483_646) + 1
  /** A whole number from 0 and below `choices`. */
  const below = (choices: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % choices
  }
  return {
    below,
    between: (from: number, to: number) => from + below(to - from + 1),
    any: <T>(list: readonly T[]): T => list[below(list.length)]!,
    /** True with this probability, from 0 to 1. */
    chance: (share: number) => below(10_000) < share * 10_000,
    /** A separate chooser. Its choices do not affect those of other choosers. */
    fork: () => createChooser(below(2_147_483_646)),
  }
}
