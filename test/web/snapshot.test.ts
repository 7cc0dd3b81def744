import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'

const patience = { timeout: 60_000 }
const assets = path.join(import.meta.dirname, '../../services/web/dist/assets')
/** If the page turned this text into HTML, it would run a script or show an image. */
const hostile = '<img src=x onerror="document.title=1"><script>document.title=1</script></div>" &amp; *bold*'

/** Tests of the snapshot, which the next start shows before the page itself is rendered. */
describeSite('the snapshot of the page', { timeout: 120_000 }, (site) => {
  async function openBrowser(): Promise<BrowserContext> {
    const context = await site.browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } })
    onTestFinished(() => context.close())
    return context
  }

  /** A person who has read the channel in the dark theme, has done `last`, and has closed the page. */
  async function leave(
    context: BrowserContext,
    name: string,
    channel: { id: string },
    last: (page: Page) => Promise<void> = async () => {},
  ): Promise<string> {
    const address = `${site.baseUrl}/c/${channel.id}`
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    await page.goto(address)
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('article').filter({ hasText: 'the newest words' }).waitFor()
    await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null'), patience).toBe(true)
    // The code that takes snapshots comes after the first view, together with the code that fetches the unread threads.
    await expect.poll(() => page.evaluate(hasFetchedThreads), patience).toBe(true)
    await page.evaluate(`document.documentElement.dataset.theme = 'dark'`)
    await last(page)
    await page.goto(`${site.baseUrl}/docs`)
    await expect
      .poll(() => page.evaluate(`caches.match('/snapshot.json').then((found) => found !== undefined)`))
      .toBe(true)
    await page.close()
    return address
  }

  /** Opens the page without running its script. */
  async function withoutScript(context: BrowserContext): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setScriptExecutionDisabled', { value: true })
    return page
  }

  async function prepare(name: string) {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name })
    for (let n = 1; n < 60; n++) await admin.says(`${n} words before`, channel)
    await admin.says(hostile, channel)
    await admin.says('the newest words', channel)
    return channel
  }

  test('has of a very long message only the beginning that was shown', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name: 'gauge readings' })
    await admin.says(Array.from({ length: 300 }, (_, n) => `line ${n + 1}.`).join('\n'), channel)
    await admin.says('the newest words', channel)
    const context = await openBrowser()
    const address = await leave(context, 'una', channel)
    const page = await withoutScript(context)
    await page.goto(address)
    const text = await page.locator('#snapshot article').first().textContent()
    expect(text).toContain('line 20.')
    expect(text).not.toContain('line 300.')
  })

  test('has the visible messages as text, has the theme of the page, and is hidden from screen readers', async () => {
    const channel = await prepare('quay')
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    for (let n = 1; n <= 60; n++) await ann.creates({ name: `mooring ${n}` })
    const context = await openBrowser()
    const address = await leave(context, 'ann', channel)
    const page = await withoutScript(context)
    await page.goto(address)
    const snapshot = page.locator('#snapshot')
    expect(await snapshot.getAttribute('aria-hidden')).toBe('true')
    expect(await snapshot.getAttribute('inert')).toBe('')
    const articles = snapshot.locator('article')
    expect(await articles.last().innerText()).toContain('the newest words')
    expect(await articles.nth(-2).innerText()).toContain('<img src=x onerror="document.title=1"><script>')
    // The only image tells the service worker that the snapshot is painted.
    expect(await snapshot.locator('img:not([src^="/snapshot-is-painted"]), script').count()).toBe(0)
    // The browser renders nothing before it has parsed the last element of the snapshot, nor displays anything without the styles.
    const last = await snapshot.locator('> :last-child').getAttribute('id')
    expect(await page.locator('head > :first-child[rel=expect][blocking=render]').getAttribute('href')).toBe(`#${last}`)
    expect(await snapshot.getAttribute('hidden')).toBe('')
    // The browser has searched no font of the system that this machine does not have.
    expect(await page.evaluate(fontsWith('loaded'))).toHaveLength(1)
    expect(await page.evaluate(fontsWith('error'))).toEqual([])
    // The snapshot does not contain the whole lists.
    expect(await articles.count()).toBeLessThan(40)
    expect(await snapshot.getByText(/^mooring/).count()).toBeLessThan(40)
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    const newest = await articles.last().boundingBox()
    expect(newest!.y).toBeGreaterThan(400)
    expect(newest!.y).toBeLessThan(800)
  })

  test('has the messages and the draft at their position in the page, and no open menu', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await prepare('ramp')
    const image = await admin.uploadsImage(`/channels/${channel.id}/messages`, 'sea.png', png(300, 200, [9, 9, 99]))
    await admin.sends(channel, { content: 'a picture', images: [image] })
    await admin.says('behind the picture', channel)
    const context = await openBrowser()
    const address = await leave(context, 'finn', channel, async (page) => {
      await page.getByLabel('Message ramp').fill('a draft\nof\nfour\nlines')
      // The newest message is a little below the window; the page begins with it.
      await page.locator('.feed-scroller').evaluate((list) => list.scrollBy(0, -60))
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menu').waitFor()
    })
    const before = await withoutScript(context)
    await before.goto(address)
    expect(await before.locator('#snapshot .menu').count()).toBe(0)
    const after = await context.newPage()
    await after.goto(address)
    await after.getByRole('article').filter({ hasText: 'behind the picture' }).waitFor(patience)
    const newest = 4
    expect((await tops(before)).slice(-newest)).toHaveLength(newest)
    await expect.poll(async () => (await tops(after)).slice(-newest)).toEqual((await tops(before)).slice(-newest))
    expect(await before.locator('#snapshot textarea').inputValue()).toBe('a draft\nof\nfour\nlines')
  })

  test('does not look like the page when the page does not come', async () => {
    const channel = await prepare('sluice')
    const context = await openBrowser()
    const address = await leave(context, 'gus', channel)
    const page = await withoutScript(context)
    await page.goto(address)
    const notice = () =>
      page.locator('#snapshot').evaluate((snapshot) => {
        const { content, visibility } = getComputedStyle(snapshot, '::after')
        return `${visibility} ${content}`
      })
    await expect.poll(notice, patience).toBe('visible "Connecting…"')
  })

  test('is shown only at its own address, and is removed once the page is rendered', async () => {
    const channel = await prepare('pier')
    const context = await openBrowser()
    const address = await leave(context, 'bea', channel)
    const page = await withoutScript(context)
    await page.goto(`${address}/t/${channel.id}`)
    expect(await page.locator('#snapshot').count()).toBe(0)

    const again = await context.newPage()
    await again.goto(address)
    await again.getByRole('article').filter({ hasText: 'the newest words' }).waitFor(patience)
    expect(await again.locator('#snapshot').count()).toBe(0)
  })

  test('is replaced by the page when the server does not respond', async () => {
    const channel = await prepare('mole')
    const context = await openBrowser()
    const address = await leave(context, 'hana', channel)
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    // Without an access token the page cannot request the event stream.
    await page.addInitScript(`{
      const { fetch } = window
      window.fetch = (...request) => String(request[0]).startsWith('/auth/refresh') ? new Promise(() => {}) : fetch(...request)
    }`)
    await page.goto(address)
    await page.locator('#app').getByRole('navigation').first().waitFor(patience)
    expect(await page.locator('#snapshot').count()).toBe(0)
  })

  test('is removed by a sign-out, and by the sign-in of another person', async () => {
    const channel = await prepare('dock')
    const context = await openBrowser()
    const address = await leave(context, 'cleo', channel)
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    await page.goto(address)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => page.evaluate('caches.keys()'), patience).toEqual([])
    await page.close()

    await leave(context, 'dan', channel)
    const other = await context.newPage()
    other.setDefaultTimeout(patience.timeout)
    // A mailed link begins another session.
    await other.goto(`${site.baseUrl}/?token=used&email=eli@example.com`)
    await other.getByLabel('Email').fill('eli@example.com')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'Account' }).waitFor()
    const kept = () =>
      other.evaluate(
        `caches.match('/snapshot.json').then((found) => found?.json()).then((snapshot) => snapshot?.userId ?? 'none')`,
      )
    await expect.poll(kept, patience).toBe('none')
  })

  test('is not kept when it comes while a sign-out removes everything', async () => {
    const channel = await prepare('weir')
    const context = await openBrowser()
    await leave(context, 'fred', channel)
    const [worker] = context.serviceWorkers()
    // In the service worker: both notes come together, and both are done when this resolves.
    const kept = await worker!.evaluate(`(async () => {
      const snapshot = { userId: 'fred', pathname: '/c/x', html: '<p>private</p>', late: '', root: {} }
      const done = [{ kind: 'forget' }, { kind: 'snapshot', snapshot }].flatMap((data) => {
        const event = new ExtendableMessageEvent('message', { data })
        const promises = []
        event.waitUntil = (promise) => promises.push(promise)
        dispatchEvent(event)
        return promises
      })
      await Promise.all(done)
      return caches.keys()
    })()`)
    expect(kept).toEqual([])
  })

  test('a part of the page that loads while a sign-out removes everything is not kept', async () => {
    const channel = await prepare('canal')
    const context = await openBrowser()
    const address = await leave(context, 'gil', channel)
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    await page.goto(address)
    await page.getByRole('button', { name: 'Account' }).waitFor()
    const [worker] = context.serviceWorkers()
    // The removal begins when the service worker has just seen that there is a cache. Each request for the names gives it time.
    await worker!.evaluate(`(() => {
      const { has } = CacheStorage.prototype
      self.removal = new Promise((resolve) => {
        CacheStorage.prototype.has = async function (name) {
          const isThere = await has.call(this, name)
          CacheStorage.prototype.has = has
          const event = new ExtendableMessageEvent('message', { data: { kind: 'forget' } })
          event.waitUntil = (promise) => resolve(promise)
          dispatchEvent(event)
          for (let n = 0; n < 20; n++) await this.keys()
          return isThere
        }
      })
    })()`)
    const part = readdirSync(assets).find((name) => /^audit-log-.*\.js$/.test(name))
    expect(await page.evaluate(`fetch('/assets/${part}').then(({ status }) => status)`)).toBe(200)
    await worker!.evaluate('self.removal')
    expect(await worker!.evaluate('caches.keys()')).toEqual([])
  })
})

/** In the page. */
const hasFetchedThreads = `performance.getEntriesByType('resource').some(({ name }) => name.includes('/threads?'))`

/** Of the messages, in pixels. */
const tops = (page: Page) =>
  page.locator('article').evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().top)))

/** In the page: the families of fonts with this status. */
const fontsWith = (status: string) =>
  `[...new Set([...document.fonts].filter((font) => font.status === '${status}').map(({ family }) => family))]`
