import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeSite } from './site.ts'
import { channels, complaintsOf, isAccessible } from './visitors.ts'

/**
 * A proxy in front of the server. It can simulate a newer build of the page by changing the bytes of the service worker, and it can have a
 * sign-in of its own, which replaces the page.
 */
const proxy = {
  build: 1,
  baseUrl: '',
  server: undefined as Server | undefined,
  arrived: Promise.withResolvers<void>(),
  signIn: 'none' as 'none' | 'page' | 'redirect',
}
const signInPage = '<!doctype html><title>Proxy</title><h1>Sign in to the proxy</h1>'
/** A file of the page for which the proxy never sends a response. */
const unanswered = '/assets/unanswered.js'

beforeAll(async () => {
  proxy.server = createServer((incoming, outgoing) => {
    if (incoming.url === unanswered) return proxy.arrived.resolve()
    if (incoming.url === '/proxy') return outgoing.setHeader('content-type', 'text/html').end(signInPage)
    if (proxy.signIn !== 'none' && incoming.headers.accept?.includes('text/html')) {
      if (proxy.signIn === 'page') return outgoing.setHeader('content-type', 'text/html').end(signInPage)
      return outgoing.writeHead(302, { location: '/proxy' }).end()
    }
    const isWorker = incoming.url === '/worker.js'
    const { 'if-none-match': _, 'if-modified-since': __, ...asked } = incoming.headers
    const headers = isWorker ? { ...asked, 'accept-encoding': 'identity' } : incoming.headers
    const passed = request(proxy.baseUrl + incoming.url, { method: incoming.method, headers }, async (answer) => {
      const { 'content-length': ___, ...others } = answer.headers
      outgoing.writeHead(answer.statusCode!, isWorker ? others : answer.headers)
      if (isWorker) outgoing.end(`${await text(answer)}\n// build ${proxy.build}`)
      else answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
})
afterAll(() => {
  proxy.server?.closeAllConnections()
  proxy.server?.close()
})

const addressOf = (baseUrl: string) => {
  proxy.baseUrl = baseUrl
  return `http://127.0.0.1:${(proxy.server!.address() as AddressInfo).port}`
}

describeSite('a newer build of the web client', { timeout: 120_000, addressOf }, (site) => {
  const reload = (page: Page) => page.getByRole('status').getByRole('button', { name: 'Reload' })

  /** Simulates a newer build, and waits until the page has found it. */
  async function hasNewerBuild(page: Page) {
    proxy.build++
    await page.evaluate(async () => void (await (await navigator.serviceWorker.ready).update()))
    await reload(page).waitFor()
  }

  test('is loaded by Reload in every tab, also when another tab has loaded it already', async () => {
    const first = await site.signIn('ann')
    await first.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await hasNewerBuild(first)
    const second = await first.context().newPage()
    const complaints = complaintsOf(second)
    await second.goto(first.url())
    await reload(second).waitFor()

    for (const page of [first, second]) {
      const isLoaded = page.waitForEvent('load')
      await reload(page).click()
      await isLoaded
      await page.getByRole('button', { name: 'Account' }).waitFor()
      await reload(page).waitFor({ state: 'detached' })
    }
    expect(complaints).toEqual([])
  })

  test('is loaded by Reload even while the previous service worker waits for a file', async () => {
    const page = await site.signIn('bea')
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await hasNewerBuild(page)
    await page.evaluate((url) => void fetch(url).catch(() => {}), unanswered)
    await proxy.arrived.promise
    const isLoaded = page.waitForEvent('load')
    await reload(page).click()
    await isLoaded
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await reload(page).waitFor({ state: 'detached' })
  })

  test('is announced by a notice that can be closed, because it covers the top bar of a phone', async () => {
    const page = await site.signIn('dora', '/', { viewport: { width: 390, height: 844 } })
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await hasNewerBuild(page)
    const notice = page.getByRole('status').filter({ hasText: 'A new version of this page is ready' })
    await isAccessible(page)
    await notice.getByRole('button', { name: 'Close' }).click()
    await notice.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Navigation' }).click()
    await channels(page).waitFor()
    await hasNewerBuild(page)
    await notice.waitFor()
  })

  test.each(['page', 'redirect'] as const)('is not replaced by the sign-in of a proxy: %s', async (signIn) => {
    onTestFinished(() => {
      proxy.signIn = 'none'
    })
    const page = await site.signIn(`cleo-${signIn}`)
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    proxy.build++
    proxy.signIn = signIn
    // The installation of the newer build fails, because the proxy does not send the page.
    const state = await page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready
      return new Promise<string>((resolve) => {
        registration.addEventListener('updatefound', () => {
          const installing = registration.installing!
          installing.addEventListener('statechange', () => resolve(installing.state), { once: true })
        })
        registration.update().catch(() => {})
      })
    })
    expect(state).toBe('redundant')

    // Signing out removes the page of the previous build. The next start has to fetch it.
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => page.evaluate('caches.keys()')).toEqual([])
    await page.goto(new URL('/', page.url()).href)
    await page.getByRole('heading', { name: 'Sign in to the proxy' }).waitFor()
    proxy.signIn = 'none'
    await page.goto(new URL('/', page.url()).href)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })
})
