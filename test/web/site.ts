import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Installation, type LaunchOptions, launch, type Topology } from '../src/launch.ts'
import { startChromium, startHeadlessShell, whyNoChromium } from './chromium.ts'
import { createVisitors } from './visitors.ts'

interface SiteOptions {
  topology?: Topology
  /** Of the whole tests, in milliseconds. */
  timeout?: number
  /** For what a page without a browser around it does not have: tabs in the background, notifications. */
  wholeBrowser?: boolean
  /** How the server is started; called when everything that was begun before it is there. */
  launched?: () => LaunchOptions
  /** Where browsers find the server of this address. */
  addressOf?: (baseUrl: string) => string
}

/** A server and a browser, which are there while the tests run. */
export type Site = ReturnType<typeof createSite>

const reason = whyNoChromium === null ? '' : ` (skipped: ${whyNoChromium})`

/** Tests with a server and a browser of their own; reported as skipped where no browser can be had. */
export function describeSite(name: string, options: SiteOptions, tests: (site: Site) => void) {
  const { timeout = 60_000 } = options
  describe.skipIf(whyNoChromium !== null)(`${name}${reason}`, { timeout }, () => tests(createSite(options)))
}

function createSite({
  topology = 'solo',
  wholeBrowser = false,
  launched = () => ({}),
  addressOf = (baseUrl) => baseUrl,
}: SiteOptions) {
  const startBrowser = wholeBrowser ? startChromium : startHeadlessShell
  let installation: Installation
  let browser: Browser
  beforeAll(async () => {
    ;[installation, browser] = await Promise.all([
      // One of each service is a cluster to a browser. What a second one changes is for test/journeys.
      launch(topology, { replicas: 1, ...launched() }),
      startBrowser(),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await installation?.discard()
  })
  const visitors = createVisitors(
    () => browser,
    () => addressOf(installation.baseUrl),
  )
  return {
    ...visitors,
    get browser() {
      return browser
    },
    get installation() {
      return installation
    },
    get baseUrl() {
      return installation.baseUrl
    },
  }
}
