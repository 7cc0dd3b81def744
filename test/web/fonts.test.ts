import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article } from './visitors.ts'

/** In these signs fonts differ most: with another font, texts of them get more lines, or fewer. */
const wordsOf = (n: number) => (n % 2 ? '1111 ' : 'JAY-JAY ')
const texts = Array.from({ length: 40 }, (_, n) => `${n}: ${wordsOf(n).repeat((7 * n) % 50)}`)
const phone = { viewport: { width: 390, height: 844 } }

/** The browser: its service worker keeps the font. */
describeSite('fonts of the web client', { wholeBrowser: true, timeout: 120_000 }, (site) => {
  async function fillChannel(name: string, contents: readonly string[]) {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name })
    for (const content of contents) await writer.says(content, channel)
    return `/c/${channel.id}`
  }

  test('are asked for when the first messages are drawn, and the newest message stays where it is when they come', async () => {
    const address = await fillChannel('first visit', [...texts, `the newest: ${wordsOf(0).repeat(50)}`])
    const page = await site.signIn('visitor', address, { withoutWorker: true, ...phone })
    const session = await page.context().newCDPSession(page)
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await page.addInitScript(watchNewest)

    await page.reload()
    await expect.poll(() => loadedFonts(page)).toContain('Inter Variable')
    await page.evaluate(fewFrames)
    const { drawnAt, places } = await watched(page)
    expect(Math.min(...(await fontsAskedAt(page)))).toBeGreaterThan(drawnAt)
    expect(places).toEqual([0])
  })

  test('are kept, and asked for at once by every later start', async () => {
    const address = await fillChannel('later visits', ['the newest'])
    const page = await site.signIn('regular', address)
    await article(page, 'the newest').waitFor()
    await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true)
    await page.addInitScript(watchNewest)

    const isAnswered = page.waitForResponse((response) => response.url().includes('inter-latin'))
    await page.reload()
    expect((await isAnswered).fromServiceWorker()).toBe(true)
    await expect.poll(async () => (await watched(page)).drawnAt).toBeGreaterThan(0)
    expect(Math.min(...(await fontsAskedAt(page)))).toBeLessThan((await watched(page)).drawnAt)
  })

  test('are those of the system, without a complaint, when the network and the kept font are gone', async () => {
    const address = await fillChannel('bare start', ['the newest'])
    const page = await site.signIn('traveller', address)
    await article(page, 'the newest').waitFor()
    await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true)
    await expect.poll(() => loadedFonts(page)).toContain('Inter Variable')
    await page.evaluate(forgetFonts)
    const session = await page.context().newCDPSession(page)
    await session.send('Network.clearBrowserCache')
    await page.context().setOffline(true)
    await page.reload()
    await expect.poll(() => page.evaluate(`[...document.fonts].some(({ status }) => status === 'error')`)).toBe(true)
  })

  test('have emoji for machines without any, and digits and signs that are none', async () => {
    const address = await fillChannel('signs', ['12 # * ©', '😀'])
    const page = await site.signIn('painter', address, { withoutWorker: true })
    await article(page, '😀').waitFor()
    await expect.poll(() => familiesIn(page, '😀')).toEqual(['Noto Color Emoji'])
    await expect.poll(() => familiesIn(page, '12 #')).toEqual(['Inter'])
  })
})

const loadedFonts = (page: Page) =>
  page.evaluate<string[]>(
    `[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family.replaceAll('"', ''))`,
  )

/** Milliseconds since the start of the page. */
const fontsAskedAt = (page: Page) =>
  page.evaluate<number[]>(
    `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.woff2')).map(({ startTime }) => startTime)`,
  )

interface Watched {
  /** When the newest message was there, in milliseconds since the start of the page. */
  drawnAt: number
  /** How far its end was above the end of the list, each time that this changed. */
  places: number[]
}
const watched = (page: Page) => page.evaluate<Watched>('watched')

/** Looks at the newest message in each frame, as it is painted: an IntersectionObserver measures when everything else is done. */
const watchNewest = `{
  globalThis.watched = { drawnAt: 0, places: [] }
  const { places } = watched
  const look = () => {
    const feed = document.querySelector('[role=feed]')
    const newest = [...(feed?.querySelectorAll('article') ?? [])].find((one) => one.textContent.includes('the newest'))
    if (newest && getComputedStyle(newest.parentElement).visibility !== 'hidden') {
      watched.drawnAt ||= performance.now()
      const observer = new IntersectionObserver(([{ boundingClientRect, rootBounds }]) => {
        observer.disconnect()
        const place = Math.round(rootBounds.bottom - boundingClientRect.bottom)
        if (places.at(-1) !== place) places.push(place)
      }, { root: feed })
      observer.observe(newest)
    }
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}`

/** What the service worker keeps of them. */
const forgetFonts = `(async () => {
  for (const name of await caches.keys()) {
    const cache = await caches.open(name)
    for (const { url } of await cache.keys()) if (url.endsWith('.woff2')) await cache.delete(url)
  }
})()`

const fewFrames = `new Promise((resolve) => {
  const wait = (frames) => (frames === 0 ? resolve() : requestAnimationFrame(() => wait(frames - 1)))
  wait(10)
})`

/** The families of the fonts with which the text of a message is drawn. */
async function familiesIn(page: Page, text: string): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('DOM.enable')
  await session.send('CSS.enable')
  const id = await article(page, text).locator('.text').getAttribute('id')
  const { root } = await session.send('DOM.getDocument')
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: `[id="${id}"]` })
  const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId })
  await session.detach()
  return [...new Set(fonts.map(({ familyName }) => familyName.replace(/ Variable| Regular/, '')))]
}
