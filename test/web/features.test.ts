import { administrationJourneys } from './administration-journeys.ts'
import { composingJourneys } from './composing-journeys.ts'
import { findingJourneys } from './finding-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'

describeSite('the features of the web client', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  composingJourneys(site)
  findingJourneys(site)
  administrationJourneys(site)
})
