import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import type { VisitOptions } from './visitors.ts'

/** The client does not retry a request when `Retry-After` is longer than half a minute. */
export const unavailable = (route: Route) => route.fulfill({ status: 503, headers: { 'retry-after': '60' } })

/** By itself, the stream may wait up to half a minute before it connects again. With the event of a new network it connects at once. */
export const connectsAtOnce = (page: Page) => page.evaluate(() => dispatchEvent(new Event('online')))

/** What the tests of failures begin with. */
export const createFailing = (site: Site) => ({
  /** An empty page whose requests can all be routed. */
  openUnaided: (options: VisitOptions = {}) => site.openPage('/docs', { ...options, withoutWorker: true }),
  signInUnaided: (name: string) => site.signIn(name, '/', { withoutWorker: true }),
  async meet() {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `failing ${randomUUID().slice(0, 8)}` })
    return { eve, channel, address: `/c/${channel.id}` }
  },
})
