import { type Cast, signInCast } from '@parley/test'
import { afterAll, beforeAll } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'
import { journeys } from './journeys.ts'
import { openPages } from './shared-stream-journeys.ts'

const pages = await openPages()
afterAll(pages.close)

let installation: Installation
let running: Cast & { baseUrl: string }
beforeAll(async () => {
  installation = await launch('cluster', {
    env: {
      PARLEY_CHAT_INITIAL_USER_USER_NAME: 'ada',
      PARLEY_CHAT_INITIAL_USER_EMAIL: 'ada@example.com',
      PARLEY_SERVER_ALLOWED_ORIGINS: pages.origin,
    },
  })
  const { baseUrl } = installation
  running = { baseUrl, ...(await signInCast(baseUrl)) }
})
afterAll(() => installation?.discard())

journeys('cluster', () => running, pages)
