import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const browserPath = '/usr/bin/chromium'
const shellPath = '/usr/bin/chromium-headless-shell'

/** The reason why there is no browser, or null. It installs Debian's Chromium if this process has the right to. */
export const whyNoChromium: string | null = (() => {
  if (existsSync(browserPath)) return null
  if (process.getuid?.() !== 0) return 'Chromium is not installed, and only root may install it'
  try {
    aptGet('update')
    aptGet('install', '-y', '--no-install-recommends', 'chromium')
    return existsSync(browserPath) ? null : 'Chromium is not where Debian puts it'
  } catch (error) {
    return `Chromium cannot be installed: ${(error as Error).message}`
  }
})()

/** The complete browser. It supports tabs in the background, and notifications. */
export const startChromium = (...more: string[]): Promise<Browser> => launch(browserPath, more)

/** Chromium without a user interface, which needs half of the processor time. If it is not installed, the complete browser is used. */
export const startHeadlessShell = (): Promise<Browser> => launch(hasShell() ? shellPath : browserPath, [])

function hasShell(): boolean {
  if (existsSync(shellPath)) return true
  if (process.getuid?.() !== 0) return false
  try {
    aptGet('install', '-y', '--no-install-recommends', 'chromium-headless-shell')
  } catch (error) {
    process.stderr.write(`tests go on with the whole Chromium: ${(error as Error).message}\n`)
  }
  return existsSync(shellPath)
}

function aptGet(...args: string[]) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', args, { stdio: 'ignore', timeout: 300_000, env })
}

const launch = (executablePath: string, more: readonly string[]) =>
  chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
