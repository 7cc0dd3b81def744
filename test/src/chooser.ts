export type Chooser = ReturnType<typeof createChooser>

/** The same choices for the same seed (Park and Miller's generator). */
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
    /** True this often, from 0 to 1. */
    chance: (share: number) => below(10_000) < share * 10_000,
    /** A chooser of its own: what one does with it changes nothing for the others. */
    fork: () => createChooser(below(2_147_483_646)),
  }
}
