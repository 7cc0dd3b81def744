import { expect, test } from 'vitest'
import { describe } from '../copies/compare.ts'
import { tryCopies } from '../copies/trial.ts'
import type { TestServer } from './test-server.ts'

/** Many more rounds are made by hand: `node test/copies/run.ts`. */
const seeds = process.env.TEST_LONG ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : [1, 2]
const steps = process.env.TEST_LONG ? 40 : 25

/** What @parley/client keeps of a server, while everything about it changes. */
export function copyJourneys(server: TestServer) {
  test.each(seeds)(
    'a snapshot and the events after it equal a new snapshot, for all that a client shows (seed %i)',
    {
      timeout: 120_000,
    },
    async (seed) => {
      const { differences, reconnections } = await tryCopies(server, seed, steps)
      expect(differences.map(describe)).toEqual([])
      expect(reconnections).toBeGreaterThan(0)
    },
  )
}
