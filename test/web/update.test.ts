import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeSite } from './site.ts'
import { channels, complaintsOf, isAccessible } from './visitors.ts'

/**
 * A proxy in front of the server. It can simulate a newer build by changing the page and the name of the build in the service worker, and it
 * can have a sign-in of its own, which replaces the page.
 */
const proxy = {
  build: 1,
  baseUrl: '',
  server: undefined as Server | undefined,
  arrived: Promise.withResolvers<void>(),
  signIn: 'none' as 'none' | 'page' | 'redirect',
}
/** The service worker or the page as they are in the current build. */
const ofBuild = (file: string) =>
  file
    .replace(/(?<=build:["'`])/, `${proxy.build}-`)
    .replace('<head>\n', `<head><meta name="build" content="${proxy.build}">`)
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
    const isOfBuild = incoming.url === '/worker.js' || incoming.headers.accept?.includes('text/html')
    const { 'if-none-match': _, 'if-modified-since': __, ...asked } = incoming.headers
    const headers = isOfBuild ? { ...asked, 'accept-encoding': 'identity' } : incoming.headers
    const passed = request(proxy.baseUrl + incoming.url, { method: incoming.method, headers }, async (answer) => {
      const { 'content-length': ___, ...others } = answer.headers
      outgoing.writeHead(answer.statusCode!, isOfBuild ? others : answer.headers)
      if (isOfBuild) outgoing.end(ofBuild(await text(answer)))
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

  /** Opens another tab of the same person. */
  async function openTab(page: Page) {
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    onTestFinished(() => expect(complaints).toEqual([]))
    await tab.goto(page.url())
    await tab.getByRole('button', { name: 'Account' }).waitFor()
    return tab
  }

  /** Clicks Reload, and checks that the page is the newer build and does not announce it again. */
  async function loadNewerBuild(page: Page) {
    await Promise.all([page.waitForEvent('load'), reload(page).click()])
    await page.getByRole('button', { name: 'Account' }).waitFor()
    expect(await page.getAttribute('meta[name=build]', 'content')).toBe(`${proxy.build}`)
    // The page has looked for a newer build.
    await page.waitForFunction(() => sessionStorage.length === 0)
    expect(await reload(page).count()).toBe(0)
  }

  test('is loaded by Reload in every tab, also when another tab has loaded it already', async () => {
    const page = await site.signIn('ann')
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    const before = await openTab(page)
    await hasNewerBuild(page)
    const after = await openTab(page)
    for (const tab of [before, after]) await reload(tab).waitFor()
    for (const tab of [page, before, after]) await loadNewerBuild(tab)
  })

  test('is loaded by Reload even while the previous service worker waits for a file', async () => {
    const page = await site.signIn('bea')
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await hasNewerBuild(page)
    await page.evaluate((url) => void fetch(url).catch(() => {}), unanswered)
    await proxy.arrived.promise
    await loadNewerBuild(page)
  })

  test('is loaded by Reload even while requests of another tab keep the previous service worker', async () => {
    const page = await site.signIn('eve')
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await hasNewerBuild(page)
    const busy = await openTab(page)
    await busy.evaluate(() => {
      const askAgain = () => fetch('/icon.svg').then(() => setTimeout(askAgain, 5))
      void askAgain()
    })
    await loadNewerBuild(page)
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
    const signInOfProxy = page.getByRole('heading', { name: 'Sign in to the proxy' })
    // The page reloads itself after a sign-out that has taken long.
    await page.getByRole('button', { name: 'Sign in' }).or(signInOfProxy).waitFor()
    await expect.poll(() => page.evaluate('caches.keys()')).toEqual([])
    await page.goto(new URL('/', page.url()).href)
    await signInOfProxy.waitFor()
    proxy.signIn = 'none'
    await page.goto(new URL('/', page.url()).href)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })
})
