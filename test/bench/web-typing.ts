import type { Browser, Page } from 'playwright-core'
import { startChromium } from '../web/chromium.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import { ask, type Opened, openAs, openChannel, openTab } from './web-pages.ts'
import { ms, p95, p99, times, webRow } from './web-rows.ts'
import type { WebStage } from './web-stage.ts'

const typedKeys = 200
const perSecond = 20
const shownMessages = 40
/** The first keys run code that was never run before, so they are not counted. */
const warmUpMs = 2_000

/**
 * Measures the time from a key to the next paint, while others talk, in a browser that draws as soon as there is
 * something to draw. A display of 60 Hz would add up to 17 ms of waiting to any page, even to an empty one.
 */
export async function measureTyping(scene: Scene, stage: WebStage): Promise<Row> {
  const { baseUrl, channelId, plain, post, reader, server } = stage
  const browser: Browser = await scene.keep(
    () => startChromium('--disable-frame-rate-limit', '--disable-gpu-vsync'),
    (started) => started.close(),
  )
  const { context, page } = await openAs(browser, baseUrl, reader)
  await openChannel(page, baseUrl, channelId)
  const content = (n: number) => `${n} while somebody types`
  const ours = await measureKeys(page, (n) =>
    post(`/channels/${channelId}/messages`, { content: content(n) }, server.clients[1 + (n % 8)]!.token),
  )
  await page.close()

  const { page: other } = await openTab(context)
  await other.goto(`${plain.url}/?last=50`)
  const theirs = await measureKeys(other, async (n) => plain.say({ author: 'somebody', content: content(n) }))
  await browser.close()

  const both = (values: number[]) => `p95 ${ms(p95(values))}, p99 ${ms(p99(values))}`
  return webRow({
    work: `key to paint, with ${perSecond} messages a second arriving`,
    ours: both(ours),
    against: 'a plain document that adds the same messages',
    theirs: both(theirs),
    ratio: times(p95(ours), p95(theirs)),
    goal: 'p95 ≤ 16 ms, p99 ≤ 33 ms',
    met: p95(ours) <= 16 && p99(ours) <= 33,
    figures: { ours, theirs },
  })
}

async function measureKeys(page: Page, speak: (n: number) => Promise<unknown>): Promise<number[]> {
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.focus()
  let said = 0
  const sent: Promise<unknown>[] = []
  const timer = setInterval(() => sent.push(speak(said++)), 1_000 / perSecond)
  await page.keyboard.type('warming up', { delay: 30 })
  await page.waitForTimeout(warmUpMs)
  await ask(page, 'probes.watchKeys()')
  for (let key = 0; key < typedKeys; key++) {
    await page.keyboard.press('a')
    await page.waitForTimeout(30)
  }
  clearInterval(timer)
  await Promise.all(sent)
  return ask<number[]>(page, 'probes.keyTimes')
}

/** Measures the time from the answer of a POST to the pixels on the page of somebody who looks at the channel. */
export async function measurePixels(stage: WebStage, { page }: Opened): Promise<Row> {
  const { baseUrl, channelId, post, server } = stage
  await openChannel(page, baseUrl, channelId)
  const delays: number[] = []
  for (let n = 0; n < shownMessages; n++) {
    const content = `pixels ${n} ${Date.now()}`
    const painted = ask<number>(page, `probes.paintedAt(${JSON.stringify(content)}).then(() => Date.now())`)
    await post(`/channels/${channelId}/messages`, { content }, server.clients[2]!.token)
    const answered = Date.now()
    delays.push(Math.max(0, (await painted) - answered))
  }
  return webRow({
    work: "from the answer of a POST to the other person's pixels",
    ours: `p95 ${ms(p95(delays))}, p99 ${ms(p99(delays))}`,
    goal: 'p95 ≤ 100 ms',
    met: p95(delays) <= 100,
    figures: delays,
  })
}
