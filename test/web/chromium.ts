import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Why no browser can be had here, or null: Debian's Chromium, which is installed when this process may. */
export const whyNoChromium: string | null = (() => {
  if (existsSync(executablePath)) return null
  if (process.getuid?.() !== 0) return 'Chromium is not installed, and only root may install it'
  try {
    const options = {
      stdio: 'ignore',
      timeout: 300_000,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    } as const
    execFileSync('apt-get', ['update'], options)
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], options)
    return existsSync(executablePath) ? null : 'Chromium is not where Debian puts it'
  } catch (error) {
    return `Chromium cannot be installed: ${(error as Error).message}`
  }
})()

export const startChromium = (): Promise<Browser> =>
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
    ],
  })
