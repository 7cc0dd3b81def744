import { administrationJourneys } from './administration-journeys.ts'
import { attachingJourneys } from './attaching-journeys.ts'
import { composingJourneys } from './composing-journeys.ts'
import { editingJourneys } from './editing-journeys.ts'
import { heardJourneys } from './heard-journeys.ts'
import { listJourneys } from './list-journeys.ts'
import { pastingJourneys } from './pasting-journeys.ts'
import { preferencesJourneys } from './preferences-journeys.ts'
import { quickSwitcherJourneys } from './quick-switcher-journeys.ts'
import { searchJourneys } from './search-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'

describeSite('the features of the web client', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  composingJourneys(site)
  pastingJourneys(site)
  attachingJourneys(site)
  editingJourneys(site)
  searchJourneys(site)
  quickSwitcherJourneys(site)
  listJourneys(site)
  preferencesJourneys(site)
  administrationJourneys(site)
  heardJourneys(site)
})
