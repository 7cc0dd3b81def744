import { randomUUID } from 'node:crypto'
import type { Route } from 'playwright-core'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import type { VisitOptions } from './visitors.ts'

/** The client does not retry a request when `Retry-After` is longer than half a minute. */
export const unavailable = (route: Route) => route.fulfill({ status: 503, headers: { 'retry-after': '60' } })

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
