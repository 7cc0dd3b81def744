import { afterAll, beforeAll, describe } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'
import { createTestServer } from '../src/test-server.ts'
import { restartJourneys } from './restart-journeys.ts'

/** `deploy/local/solo.test.ts` stops and kills a solo server too. */
describe.each(usualTopologies)('restarts, %s', (topology) => {
  let installation: Installation
  beforeAll(async () => {
    installation = await launch(topology)
  })
  afterAll(() => installation?.discard())

  restartJourneys(createTestServer(() => installation))
})
