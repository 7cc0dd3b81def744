/** A skin tone of Unicode, from 1 (light) to 5 (dark); with 0 the emoji stays yellow. */
export type Tone = 0 | 1 | 2 | 3 | 4 | 5
export const tones: readonly Tone[] = [0, 1, 2, 3, 4, 5]
