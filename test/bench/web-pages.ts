import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import type { Signed } from './people.ts'

/** The browser's processor is slowed down by this factor. */
export const slowdown = 4

export interface Opened {
  context: BrowserContext
  page: Page
  session: CDPSession
}

/** Opens a separate browser context with a slow processor, in which this person is signed in by cookie. */
export async function openAs(browser: Browser, baseUrl: string, person: Signed): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
  const response = await context.request.post(`${baseUrl}/auth/dev-login`, {
    headers: { 'x-parley-session': 'cookie' },
    data: { email: `${person.userId}@bench.test` },
  })
  if (!response.ok()) throw new Error(`${person.userName} cannot sign in: ${response.status()}`)
  return { context, ...(await openTab(context)) }
}

export async function openTab(context: BrowserContext): Promise<Omit<Opened, 'context'>> {
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  await page.addInitScript({ content: probes })
  return { page, session }
}

/** Opens a channel, and waits for its messages and its link in the sidebar, which may appear after them. */
export async function openChannel(page: Page, baseUrl: string, channelId: string): Promise<void> {
  await page.goto(`${baseUrl}/c/${channelId}`)
  await page.getByRole('article').first().waitFor()
  await page.locator('nav a[aria-current="page"]').waitFor()
}

/** Code for the page is passed as text, because the TypeScript configuration of this project has no browser types. */
export const ask = <T>(page: Page, expression: string) => page.evaluate<T>(expression)

/**
 * Put into each page before its own scripts. `paintedAt(text)` answers when an article with the text was painted, in milliseconds since the
 * navigation; `frames` has the gaps between frames since `watchFrames()`, and `keyTimes` the time from each key to the paint behind it.
 * `drift(milliseconds)` answers by how many pixels at most the article in the middle of the list moves, in any frame, while nobody scrolls.
 */
const probes = `
  // A task of this priority runs directly after the frame. A message would wait for other tasks of the page first.
  const afterPaint = (tell) => scheduler.postTask(() => tell(performance.now()), { priority: 'user-blocking' })
  // Later there are no frames but those of the page itself: a text that is read in each frame makes a key and a switch slower.
  const watchMs = 5_000
  const newestText = () => [...document.querySelectorAll('article')].slice(-3).map(({ textContent }) => textContent).join()
  // Articles that were painted before the first call of paintedAt: a page starts before the bench can call it.
  const painted = []
  let isAsked = false
  const watchPaint = () => {
    const text = newestText()
    if (text) afterPaint((at) => painted.push({ at, text }))
    if (!isAsked && performance.now() < watchMs) requestAnimationFrame(watchPaint)
  }
  requestAnimationFrame(watchPaint)
  window.probes = {
    afterPaint,
    paintedAt: (text) => new Promise((resolve) => {
      isAsked = true
      const found = painted.find((frame) => frame.text.includes(text))
      if (found) return resolve(found.at)
      const look = () => {
        if (newestText().includes(text)) afterPaint(resolve)
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    }),
    frames: [],
    watchFrames: () => {
      let before = performance.now()
      const step = (now) => {
        window.probes.frames.push(now - before)
        before = now
        requestAnimationFrame(step)
      }
      requestAnimationFrame(step)
    },
    keyTimes: [],
    watchKeys: () => addEventListener('keydown', ({ timeStamp }) => {
      requestAnimationFrame(() => afterPaint((now) => window.probes.keyTimes.push(now - timeStamp)))
    }, true),
    drift: (milliseconds) => new Promise((resolve) => {
      const list = document.querySelector('[role=feed]').getBoundingClientRect()
      const anchor = document.elementFromPoint(list.x + list.width / 2, list.y + list.height / 2).closest('article')
      const begun = performance.now()
      const at = anchor?.getBoundingClientRect().top
      let most = 0
      const step = (now) => {
        // When the middle of the list is between two messages, there is no article to follow.
        if (anchor) most = Math.max(most, anchor.isConnected ? Math.abs(anchor.getBoundingClientRect().top - at) : Infinity)
        if (now - begun < milliseconds) requestAnimationFrame(step)
        else resolve(most)
      }
      requestAnimationFrame(step)
    }),
  }
`
