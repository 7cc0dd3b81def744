import type { Row } from './report.ts'
import { percentile } from './statistics.ts'
import { ask, type Opened, openChannel, openTab } from './web-pages.ts'
import { ms, sorted, webRow } from './web-rows.ts'
import type { WebStage } from './web-stage.ts'

/** Measures switches between two channels, from the click to the paint of the other channel's messages. */
export async function measureSwitches({ baseUrl, channelId, post, server }: WebStage, { page }: Opened): Promise<Row> {
  await openChannel(page, baseUrl, channelId)
  const other = await ask<string>(
    page,
    `[...document.querySelectorAll('nav a[href^="/c/"]:not([aria-current])')][0].pathname.slice(3)`,
  )
  for (let n = 0; n < 60; n++)
    await post(`/channels/${other}/messages`, { content: `${n}: of the other channel` }, server.clients[2]!.token)
  const all = await ask<number[]>(page, switching)
  // The first two switches fetch the channels, which are then kept.
  const times = sorted(all.slice(2))
  return webRow({
    work: 'switch to a channel that is kept',
    ours: `median ${ms(percentile(times, 0.5))}, p95 ${ms(percentile(times, 0.95))}`,
    goal: '≤ 50 ms',
    met: percentile(times, 0.5) <= 50,
    figures: all,
  })
}

const switching = `(async () => {
  const open = document.querySelector('nav a[aria-current="page"]')
  const pair = [document.querySelector('nav a[href^="/c/"]:not([aria-current])'), open]
  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
  const painted = (before) => new Promise((resolve) => {
    const look = () => {
      const feed = document.querySelector('main [role=feed]')
      if (feed && feed.getAttribute('aria-label') !== before && feed.querySelectorAll('article').length > 5) probes.afterPaint(resolve)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  const times = []
  for (let n = 0; n < 24; n++) {
    const before = document.querySelector('main [role=feed]').getAttribute('aria-label')
    const begun = performance.now()
    pair[n % 2].click()
    times.push((await painted(before)) - begun)
    await pause(n > 1 ? 300 : 2000)
  }
  return times
})()`

const tabs = 5

/** Measures five tabs of one person. */
export async function measureTabs({ baseUrl, channelId }: WebStage, { context }: Opened): Promise<Row> {
  const requests: string[] = []
  for (let n = 0; n < tabs; n++) {
    const { page } = await openTab(context)
    page.on('request', (sent) => requests.push(new URL(sent.url()).pathname))
    await openChannel(page, baseUrl, channelId)
  }
  const of = (path: string) => requests.filter((each) => each === path).length
  const counted = { '/events': of('/events'), '/channels': of('/channels'), '/conversations': of('/conversations') }
  return webRow({
    work: `${tabs} more tabs of one person beside an open one`,
    ours: Object.entries(counted)
      .map(([path, count]) => `${count} × ${path}`)
      .join(', '),
    goal: 'no stream and no listings of their own',
    met: Object.values(counted).every((count) => count === 0),
    figures: requests,
  })
}
