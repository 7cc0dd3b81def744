import { expect, test } from 'vitest'
import { bundledBytes, coreGoalBytes, coreNames } from '../bench/client-bundle.ts'

test('the core of the library stays small, and needs nothing but the library', async () => {
  expect(await bundledBytes(coreNames)).toBeLessThanOrEqual(coreGoalBytes)
})
