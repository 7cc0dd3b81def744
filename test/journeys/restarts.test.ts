import { afterAll, beforeAll, describe } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'
import { restartJourneys } from './restart-journeys.ts'
import { createTestServer } from './test-server.ts'

/** `deploy/local/solo.test.ts` stops and kills a solo server too. */
describe.each(usualTopologies)('restarts, %s', (topology) => {
  let installation: Installation
  beforeAll(async () => {
    installation = await launch(topology)
  })
  afterAll(() => installation?.discard())

  restartJourneys(createTestServer(() => installation))
})
