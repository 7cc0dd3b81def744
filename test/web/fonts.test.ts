import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article } from './visitors.ts'

/** The widths of these characters differ most between fonts, so with another font their texts have more or fewer lines. */
const wordsOf = (n: number) => (n % 2 ? '1111 ' : 'JAY-JAY ')
const texts = Array.from({ length: 40 }, (_, n) => `${n}: ${wordsOf(n).repeat((7 * n) % 50)}`)
const phone = { viewport: { width: 390, height: 844 } }

/** Fonts of the page. The service worker of the browser caches them. */
describeSite('fonts of the web client', { timeout: 120_000 }, (site) => {
  async function fillChannel(name: string, contents: readonly string[]) {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name })
    for (const content of contents) await writer.says(content, channel)
    return `/c/${channel.id}`
  }

  test('are requested after the first messages are painted, and the newest message keeps its position when they come', async () => {
    const address = await fillChannel('first visit', [...texts, `the newest: ${wordsOf(0).repeat(50)}`])
    const page = await site.signIn('visitor', address, { withoutWorker: true, ...phone })
    const session = await page.context().newCDPSession(page)
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await page.addInitScript(watchNewest)

    await page.reload()
    await expect.poll(() => loadedFonts(page)).toContain('Inter Variable')
    await page.evaluate(fewFrames)
    const { visibleAt, places } = await watched(page)
    expect(Math.min(...(await fontsRequestedAt(page)))).toBeGreaterThan(visibleAt)
    expect(places).toEqual([0])
  })

  test('do not take a person to the end of a list who has just scrolled away from it', async () => {
    const address = await fillChannel('impatient visit', texts)
    const page = await site.signIn('impatient', address, { withoutWorker: true, ...phone })
    await page.addInitScript(scrollToTopAfterFonts)
    await page.reload()
    await expect.poll(() => page.evaluate('isScrolled')).toBe(true)
    await page.evaluate(fewFrames)
    expect(await page.locator('.feed-scroller').evaluate((list) => list.scrollTop)).toBe(0)
  })

  test('are cached, and loaded immediately at every later start', async () => {
    const address = await fillChannel('later visits', ['the newest'])
    const page = await site.signIn('regular', address)
    await article(page, 'the newest').waitFor()
    await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true)
    await page.addInitScript(watchNewest)

    const ofFont = page.waitForResponse((response) => response.url().includes('inter-latin'))
    await page.reload()
    expect((await ofFont).fromServiceWorker()).toBe(true)
    await expect.poll(async () => (await watched(page)).visibleAt).toBeGreaterThan(0)
    expect(Math.min(...(await fontsRequestedAt(page)))).toBeLessThan((await watched(page)).visibleAt)
  })

  test('of the system are used, without an error in the console, when there is no network and no cached font', async () => {
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

  test('of the system are used, without an error in the console, when the first visit cannot load a font', async () => {
    const page = await site.openPage('/docs', { withoutWorker: true })
    await page.route('**/*.woff2', (route) => route.abort())
    const failed = page.waitForEvent('requestfailed', (request) => request.url().includes('inter-latin'))
    await Promise.all([failed, page.goto(site.baseUrl)])
    await page.evaluate(fewFrames)
  })

  test('include emoji for machines without them, and do not replace digits and other characters', async () => {
    const address = await fillChannel('signs', ['12 # * ©', '😀'])
    const page = await site.signIn('painter', address, { withoutWorker: true })
    await article(page, '😀').waitFor()
    await expect.poll(() => familiesIn(page, '😀')).toEqual(['Noto Color Emoji'])
    await expect.poll(() => familiesIn(page, '12 #')).toEqual(['Inter'])
  })

  test('show characters as they were typed, and do not replace two characters by an arrow', async () => {
    const page = await site.signIn('typist')
    await expect.poll(() => loadedFonts(page)).toContain('Inter Variable')
    const [both, first, second] = await page.evaluate<number[]>(widthsOf(['->', '-', '>']))
    expect(both).toBeCloseTo(first! + second!, 1)
  })
})

const loadedFonts = (page: Page) =>
  page.evaluate<string[]>(
    `[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family.replaceAll('"', ''))`,
  )

/** Milliseconds since the start of the page. */
const fontsRequestedAt = (page: Page) =>
  page.evaluate<number[]>(
    `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.woff2')).map(({ startTime }) => startTime)`,
  )

/** Scrolls to the beginning of the list as soon as the fonts are added, before the next frame. */
const scrollToTopAfterFonts = `{
  globalThis.isScrolled = false
  const { add } = FontFaceSet.prototype
  FontFaceSet.prototype.add = function (face) {
    FontFaceSet.prototype.add = add
    setTimeout(() => {
      document.querySelector('.feed-scroller').scrollTo(0, 0)
      isScrolled = true
    })
    return add.call(this, face)
  }
}`

interface Watched {
  /** When the newest message was visible, in milliseconds since the start of the page. */
  visibleAt: number
  /** The distance between the end of the message and the end of the list, each time when it changed. */
  places: number[]
}
const watched = (page: Page) => page.evaluate<Watched>('watched')

/** Measures the newest message in each frame with an IntersectionObserver, which measures after layout, as the message is painted. */
const watchNewest = `{
  globalThis.watched = { visibleAt: 0, places: [] }
  const { places } = watched
  const look = () => {
    const feed = document.querySelector('[role=feed]')
    const newest = [...(feed?.querySelectorAll('article') ?? [])].find((one) => one.textContent.includes('the newest'))
    if (newest && getComputedStyle(newest.parentElement).visibility !== 'hidden') {
      watched.visibleAt ||= performance.now()
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

/** In the page: the width of each text in pixels. */
const widthsOf = (signs: readonly string[]) => `${JSON.stringify(signs)}.map((text) => {
  const span = document.body.appendChild(document.createElement('span'))
  span.append(text)
  const { width } = span.getBoundingClientRect()
  span.remove()
  return width
})`

/** The font families that render the text of a message. */
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
