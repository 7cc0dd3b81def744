/**
 * All that `libs/client` does with a server, on the whole server in this process; `cluster.test.ts` does the same on a
 * cluster. These tests do not use the inside of the server, such as its clock or its database. `bundle.test.ts` needs
 * no server.
 */
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll } from 'vitest'
import { journeys } from './journeys.ts'
import { openPages } from './shared-stream-journeys.ts'

const pages = await openPages()
afterAll(pages.close)
const environment = testEnvironment({ server: { allowedOrigins: [pages.origin] } })

journeys('solo', () => environment, pages)
