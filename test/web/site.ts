import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Installation, type LaunchOptions, launch, type Topology } from '../src/launch.ts'
import { startChromium, startHeadlessShell, whyNoChromium } from './chromium.ts'
import { createVisitors } from './visitors.ts'

interface SiteOptions {
  topology?: Topology
  /** The time limit of each test, in milliseconds. */
  timeout?: number
  /** Whether the tests need the complete browser, for tabs in the background or notifications. */
  wholeBrowser?: boolean
  /** Starts the server. It is called after the preparations. */
  launched?: () => LaunchOptions
  /** Returns the address that browsers use for the server at this address. */
  addressOf?: (baseUrl: string) => string
}

/** A running server and a browser for the tests. */
export type Site = ReturnType<typeof createSite>

/** The server may send requests to this machine, because programs of the tests run here. */
export const mayCallThisMachine = () => ({ env: { PARLEY_INTEGRATIONS_ALLOWED_NETWORKS: '127.0.0.1' } })

const reason = whyNoChromium === null ? '' : ` (skipped: ${whyNoChromium})`

/** Declares tests with their own server and browser. They are skipped if there is no browser. */
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
      // For a browser, one replica of each service is a cluster. `test/journeys` tests several replicas.
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
