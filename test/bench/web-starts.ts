import type { Row } from './report.ts'
import { spreadOf } from './statistics.ts'
import { ask, type Opened, openAs, openTab } from './web-pages.ts'
import { ms, times, webRow } from './web-rows.ts'
import type { WebStage } from './web-stage.ts'

/**
 * Soon after the start the store is written and the service worker has cached the page. A tab is also measured only after this time, because
 * the browser is still busy with opening it, and with closing the tab before.
 */
const settlingMs = 3_000

interface Start {
  paintedMs: number
  liveMs: number
  bytes: number
  /** Requests before the newest message was painted. */
  requests: string[]
}

/**
 * Cold start: a browser that has nothing but the session. Warm start: the same browser again. Plain: the last fifty
 * messages in one document.
 */
export async function measureStarts(stage: WebStage): Promise<Row[]> {
  const { browser, baseUrl, channelId, history, plain, reader, rounds, server } = stage
  const address = `${baseUrl}/c/${channelId}`
  const cold: Start[] = []
  const warm: Start[] = []
  const simple: number[] = []
  for (let round = 0; round < rounds; round++) {
    const content = `the newest of round ${round}, ${Date.now()}`
    await stage.post(`/channels/${channelId}/messages`, { content }, server.clients[1]!.token)
    const opened = await openAs(browser, baseUrl, reader)
    cold.push(await measureStart(opened, address, content))
    await opened.page.evaluate('navigator.serviceWorker?.ready.then(() => true)')
    await opened.page.waitForTimeout(settlingMs)
    await opened.page.close()
    warm.push(await measureStart(await openTab(opened.context), address, content))
    await opened.context.close()

    const other = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const { page } = await openTab(other)
    await page.waitForTimeout(settlingMs)
    await page.goto(`${plain.url}/?last=50`, { waitUntil: 'commit' })
    simple.push(await ask<number>(page, `probes.paintedAt(${JSON.stringify(history.at(-1)!.content)})`))
    await other.close()
  }
  const medianOf = (starts: Start[], name: 'paintedMs' | 'liveMs' | 'bytes') =>
    spreadOf(starts.map((start) => start[name])).median
  const [first, again, document] = [medianOf(cold, 'paintedMs'), medianOf(warm, 'paintedMs'), spreadOf(simple).median]
  const [bytes, live] = [medianOf(cold, 'bytes'), medianOf(warm, 'liveMs')]
  const requests = Math.max(...cold.map((start) => start.requests.length))
  const beside = { against: 'a plain document with the last 50 messages', theirs: ms(document) }
  return [
    webRow({
      work: 'cold start to the newest message',
      ours: `${ms(first)}, ${(bytes / 1_000).toFixed(0)} KB, ${requests} requests`,
      ...beside,
      ratio: times(first, document),
      goal: '≤ 1,500 ms, ≤ 300 KB, ≤ 8 requests',
      met: first <= 1_500 && bytes <= 300_000 && requests <= 8,
      figures: cold,
    }),
    webRow({
      work: 'warm start, painted and live',
      ours: `${ms(again)}, live ${ms(live)}`,
      ...beside,
      ratio: times(again, document),
      goal: '≤ 300 ms, live ≤ 1,000 ms',
      met: again <= 300 && live <= 1_000,
      figures: { warm, simple },
    }),
  ]
}

async function measureStart(
  { page, session }: Omit<Opened, 'context'>,
  address: string,
  newest: string,
): Promise<Start> {
  const requests: string[] = []
  let bytes = 0
  let isPainted = false
  page.on('request', (sent) => {
    if (!isPainted) requests.push(`${sent.method()} ${new URL(sent.url()).pathname}`)
  })
  await session.send('Network.enable')
  session.on('Network.dataReceived', ({ encodedDataLength }) => {
    if (!isPainted) bytes += encodedDataLength
  })
  await page.waitForTimeout(settlingMs)
  const begun = performance.now()
  const isLive = page.waitForResponse((response) => new URL(response.url()).pathname === '/events')
  await page.goto(address, { waitUntil: 'commit' })
  const liveMs = isLive.then(() => performance.now() - begun)
  const paintedMs = await ask<number>(page, `probes.paintedAt(${JSON.stringify(newest)})`)
  isPainted = true
  return { paintedMs, liveMs: await liveMs, bytes, requests }
}
