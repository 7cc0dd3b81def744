import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { findViolations, wcag } from './axe.ts'

export type Visitors = ReturnType<typeof createVisitors>

export interface VisitOptions extends BrowserContextOptions {
  /**
   * Blocks the service worker, for tests that observe, change or refuse requests. Playwright sometimes misses requests of a page when a
   * service worker has just taken control of it.
   */
  withoutWorker?: boolean
}

/** People with browsers, who find all elements by role and name. Errors of a page fail the test. */
export function createVisitors(browser: () => Browser, baseUrl: () => string) {
  async function openPage(address = '/', { withoutWorker = false, ...options }: VisitOptions = {}) {
    const context = await browser().newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options })
    if (withoutWorker) await context.addInitScript('delete Navigator.prototype.serviceWorker')
    else forbidRoutes(context)
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    onTestFinished(async () => {
      await context.close()
      expect(complaints).toEqual([])
    })
    await page.goto(baseUrl() + address)
    return page
  }

  return {
    openPage,
    /** Signs a person in with a separate browser context, through the sign-in of the development mode. */
    async signIn(name: string, address = '/', options: VisitOptions = {}) {
      const page = await openPage(address, options)
      await page.getByLabel('Email').fill(`${name}@example.com`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Account' }).waitFor()
      return page
    },
  }
}

/**
 * Refuses `route` on a page that has a service worker, and on its context. Playwright sometimes misses a request there, so such a test would
 * fail now and then.
 */
function forbidRoutes(context: BrowserContext) {
  const refuse = () => {
    throw new Error(
      'Open this page with withoutWorker: true, because Playwright misses requests of a page with a service worker',
    )
  }
  context.route = refuse
  context.on('page', (page) => {
    page.route = refuse
  })
}

/** Collects uncaught errors of scripts, and violations of the content security policy. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.setDefaultTimeout(20_000)
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript/.test(message.text())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog of the browser: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}

export const main = (page: Page) => page.getByRole('main')

/** The id of the channel that the page shows. */
export const channelIdOf = (page: Page) => new URL(page.url()).pathname.split('/')[2]!

/** Waits until the server has stored a message that was sent. */
export const isStored = (page: Page, text: string) =>
  article(page, text).getByText('Sending…').waitFor({ state: 'detached' })

export const channels = (page: Page) => page.getByRole('navigation', { name: 'Channels' })
export const article = (page: Page, text: string | RegExp) =>
  page.getByRole('main').getByRole('article').filter({ hasText: text })
export const composer = (page: Page, channel: string) => page.getByRole('textbox', { name: `Message ${channel}` })

export async function openChannel(page: Page, name: string) {
  await channels(page).getByRole('link', { name }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

/** Joins a public channel that another person has created. */
export async function joinChannel(page: Page, name: string) {
  await page.getByRole('button', { name: 'Browse channels' }).click()
  const dialog = page.getByRole('dialog', { name: 'Browse channels' })
  await dialog.getByRole('searchbox').fill(name)
  await dialog.getByRole('button', { name: `Join ${name}` }).click()
  await dialog.getByRole('button', { name: `Leave ${name}` }).waitFor()
  await page.keyboard.press('Escape')
  await openChannel(page, name)
}

export async function createChannel(page: Page, name: string) {
  await page.getByRole('button', { name: 'Create channel' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create channel' })
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

/** Sends a text and waits until it is shown, without the characters of its markup. */
export async function say(page: Page, channel: string, text: string, shown = text) {
  const box = composer(page, channel)
  await box.fill(text)
  await box.press('Enter')
  await article(page, shown).waitFor()
}

/**
 * Moves the pointer to a message and waits for its buttons. They are rendered a moment later, and only when the server has the message. The
 * pointer follows a message that moves meanwhile. A message that is sent before the history is loaded is lower afterwards, because it then
 * continues the message above it.
 */
export async function pointAt(page: Page, text: string) {
  const message = article(page, text)
  const buttons = message.getByRole('button', { name: 'More actions' })
  await expect
    .poll(async () => {
      await message.hover()
      return buttons.count()
    })
    .toBe(1)
}

/** Clicks a button of a message, or an item of its menu. */
export async function act(page: Page, text: string, name: string) {
  const message = article(page, text)
  await pointAt(page, text)
  const button = message.getByRole('button', { name, exact: true })
  if (await button.count()) return button.click()
  await message.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

/** Shows the page in another language from now on. */
export async function showIn(page: Page, language: string) {
  await page.evaluate((chosen) => localStorage.setItem('parley.preferences', `{"language":"${chosen}"}`), language)
  await page.reload()
}

/** Resolves when the page has drawn all that it was about to draw: in the second frame from now. */
export const untilDrawn = (page: Page) =>
  page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))

/** Waits until the element has the focus. */
export const hasFocus = (element: Locator) =>
  expect.poll(() => element.evaluate((each) => each === document.activeElement)).toBe(true)

/** Checks that the open dialog, or else the page, does not violate WCAG 2.2 AA. */
export async function isAccessible(page: Page) {
  const isOpen = await page.locator('dialog[open]').count()
  expect(await findViolations(page, wcag, isOpen ? 'dialog[open]' : 'html')).toEqual([])
}

/** Removes the data that the client has stored. An open client would keep them, so the page leaves it before. */
export async function removeStores(page: Page) {
  await page.goto(new URL('/docs', page.url()).href)
  await page.evaluate(async () => {
    const stores = await indexedDB.databases()
    const remove = (name: string) =>
      new Promise((resolve, reject) => {
        const removal = indexedDB.deleteDatabase(name)
        removal.onsuccess = resolve
        removal.onerror = reject
      })
    await Promise.all(stores.map(({ name }) => remove(name!)))
  })
}

/** Refuses the messages that the person sends from now on. The page needs `withoutWorker`. */
export const refuseMessages = (page: Page) =>
  page.route('**/messages', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
      : route.fallback(),
  )
