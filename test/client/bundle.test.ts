import { expect, test } from 'vitest'
import { bundledBytes, coreGoalBytes, coreNames } from '../bench/client-bundle.ts'

test('the core of the library is small, and does not import other packages', async () => {
  expect(await bundledBytes(coreNames)).toBeLessThanOrEqual(coreGoalBytes)
})
