import { adminFailureJourneys } from './admin-failure-journeys.ts'
import { dialogFailureJourneys } from './dialog-failure-journeys.ts'
import { fileFailureJourneys } from './file-failure-journeys.ts'
import { languageFailureJourneys } from './language-failure-journeys.ts'
import { lateFailureJourneys } from './late-failure-journeys.ts'
import { linkFailureJourneys } from './link-failure-journeys.ts'
import { loadingFailureJourneys } from './loading-failure-journeys.ts'
import { questionFailureJourneys } from './question-failure-journeys.ts'
import { readingFailureJourneys } from './reading-failure-journeys.ts'
import { describeSite } from './site.ts'

/** Tests what the page shows during and after failures of the server, of the network or of this machine. */
describeSite('the web client when something fails', { timeout: 120_000 }, (site) => {
  languageFailureJourneys(site)
  lateFailureJourneys(site)
  dialogFailureJourneys(site)
  linkFailureJourneys(site)
  fileFailureJourneys(site)
  loadingFailureJourneys(site)
  readingFailureJourneys(site)
  adminFailureJourneys(site)
  questionFailureJourneys(site)
})
