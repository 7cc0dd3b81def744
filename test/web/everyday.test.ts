import { accessJourneys } from './access-journeys.ts'
import { everydayJourneys } from './everyday-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'

describeSite('everyday work in the web client', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  everydayJourneys(site)
  accessJourneys(site)
})
