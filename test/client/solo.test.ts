/**
 * Tests `libs/client` with a complete server in this process. `cluster.test.ts` runs the same tests with a cluster. These tests do not use
 * internals of the server, such as its clock or its database.
 */
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll } from 'vitest'
import { journeys } from './journeys.ts'
import { openPages } from './shared-stream-journeys.ts'

const pages = await openPages()
afterAll(pages.close)
const environment = testEnvironment({ server: { allowedOrigins: [pages.origin] } })

journeys('solo', () => environment, pages)
