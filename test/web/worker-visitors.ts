import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Site } from './site.ts'

/** Long enough for a busy machine. */
export const patience = { timeout: 60_000 }

/** Runs in the page. It is a text, because this project has no types of browsers. */
export const ask = (page: Page, expression: string) => page.evaluate<unknown>(`(async () => ${expression})()`)
export const isControlled = (page: Page) =>
  expect.poll(() => ask(page, 'navigator.serviceWorker.controller !== null'), patience).toBe(true)
/** The titles and texts of the notifications that are shown. */
export const announced = (page: Page) =>
  ask(
    page,
    `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body }) => title + ': ' + body)`,
  ) as Promise<string[]>

/** Makes another tab the visible one, so that these pages do not have the focus. */
export async function lookAway(context: BrowserContext, ...pages: Page[]) {
  // Playwright makes every page believe that it has the focus.
  for (const page of pages) {
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setFocusEmulationEnabled', { enabled: false })
  }
  await (await context.newPage()).bringToFront()
  for (const page of pages) await expect.poll(() => ask(page, 'document.hasFocus()'), patience).toBe(false)
}

/** People in a complete browser, whose pages have a service worker. */
export function visitorsWithWorker(site: Site) {
  async function openBrowser(permissions: string[] = []): Promise<BrowserContext> {
    const context = await site.browser.newContext({ locale: 'en-GB', permissions })
    onTestFinished(() => context.close())
    return context
  }

  async function signIn(context: BrowserContext, name: string): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('textbox', { name: /^Message/ }).waitFor()
    return page
  }

  /** A person who wants notifications, on the page of their preferences. */
  async function withNotifications(name: string) {
    const context = await openBrowser(['notifications'])
    const page = await signIn(context, name)
    await isControlled(page)
    // What announces messages is loaded after the first view, together with what sends this request.
    const isWatching = page.waitForResponse((response) => response.url().endsWith('/saved/ids'))
    await page.goto(`${site.baseUrl}/preferences`)
    await isWatching
    await page.getByRole('checkbox', { name: 'Desktop notifications' }).check()
    const preferences = () => ask(page, `localStorage.getItem('parley.preferences')`)
    await expect.poll(preferences, patience).toContain('"notifications":true')
    return { context, page }
  }

  return { openBrowser, signIn, withNotifications }
}
