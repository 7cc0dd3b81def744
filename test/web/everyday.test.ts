import { accessJourneys } from './access-journeys.ts'
import { backJourneys } from './back-journeys.ts'
import { keyboardJourneys } from './keyboard-journeys.ts'
import { navigationJourneys } from './navigation-journeys.ts'
import { peopleJourneys } from './people-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'
import { unreadJourneys } from './unread-journeys.ts'
import { writingJourneys } from './writing-journeys.ts'

describeSite('everyday work in the web client', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  writingJourneys(site)
  keyboardJourneys(site)
  peopleJourneys(site)
  unreadJourneys(site)
  navigationJourneys(site)
  backJourneys(site)
  accessJourneys(site)
})
