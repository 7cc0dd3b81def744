import type { Page } from 'playwright-core'
import type { Row } from './report.ts'
import { percentile } from './statistics.ts'
import { ask, type Opened, openAs, openChannel, openTab } from './web-pages.ts'
import { ms, sorted, times, webRow } from './web-rows.ts'
import type { WebStage } from './web-stage.ts'

const turnPx = 600
const turnEveryMs = 30
/** The limit is generous: a turn of the wheel moves nothing while the page above is still being loaded. */
const maxTurns = 4_000
const looksEvery = 25

/**
 * Turns the wheel upwards through a whole long history, and measures the frames and the largest number of nodes of the
 * document.
 */
export async function measureWheel({ baseUrl, channelId, plain, history }: WebStage, opened: Opened): Promise<Row> {
  const { page, context } = opened
  await openChannel(page, baseUrl, channelId)
  const ours = await wheelUp(page)
  const tab = await openTab(context)
  await tab.page.goto(plain.url)
  const theirs = await wheelUp(tab.page)
  await tab.page.close()
  const p95 = percentile(ours.frames, 0.95)
  const longest = ours.frames.at(-1)!
  return webRow({
    work: `wheel through ${history.length.toLocaleString('en')} messages${ours.isAtTop ? '' : ' (not all of them)'}`,
    ours: `p95 frame ${ms(p95)}, longest ${ms(longest)}, ${ours.nodes.toLocaleString('en')} nodes`,
    against: 'all of them in a plain document',
    theirs: `p95 frame ${ms(percentile(theirs.frames, 0.95))}, longest ${ms(theirs.frames.at(-1)!)}, ${theirs.nodes.toLocaleString('en')} nodes`,
    ratio: times(p95, percentile(theirs.frames, 0.95)),
    goal: 'p95 ≤ 33 ms, none over 100 ms, ≤ 2,000 nodes',
    met: ours.isAtTop && p95 <= 33 && longest <= 100 && ours.nodes <= 2_000,
    figures: { ours, theirs },
  })
}

async function wheelUp(page: Page) {
  await page.mouse.move(700, 400)
  await ask(page, 'probes.watchFrames()')
  let nodes = 0
  let isAtTop = false
  for (let turn = 0; turn < maxTurns && !isAtTop; turn++) {
    await page.mouse.wheel(0, -turnPx)
    await page.waitForTimeout(turnEveryMs)
    if (turn % looksEvery > 0) continue
    nodes = Math.max(nodes, await ask<number>(page, `document.querySelectorAll('*').length`))
    isAtTop = await ask<boolean>(
      page,
      `[...document.querySelectorAll('article')].slice(0, 5).some(({ textContent }) => textContent.includes('0: what is said'))`,
    )
  }
  return { frames: sorted(await ask<number[]>(page, 'probes.frames')), nodes, isAtTop }
}

const steps = 24
const stillMs = 400
const images = 6

/**
 * Measures by how many pixels the message that somebody reads moves without scrolling: when older pages are added
 * above, images load, and edits make messages above larger and smaller.
 */
export async function measureDrift(stage: WebStage): Promise<Row> {
  const { browser, baseUrl, channelId, post, put, reader, server } = stage
  const author = server.clients[3]!.token
  const said: { id: string; isLong: boolean }[] = []
  for (let n = 0; n < 4 * images; n++) {
    const isImage = n % 4 === 0
    const { filename } = isImage
      ? await post<{ filename: string }>(
          `/channels/${channelId}/messages/image`,
          { filename: 'picture.png', image: await picture(browser, 200 + n * 40) },
          author,
        )
      : { filename: '' }
    const body = { content: `${n} in a row`, ...(isImage && { images: [filename] }) }
    const { message } = await post<{ message: { id: string } }>(`/channels/${channelId}/messages`, body, author)
    said.push({ id: message.id, isLong: false })
  }
  const { context, page } = await openAs(browser, baseUrl, reader)
  await openChannel(page, baseUrl, channelId)
  await page.mouse.move(700, 400)
  const drifts: number[] = []
  for (let step = 0; step < steps; step++) {
    await page.mouse.wheel(0, -turnPx)
    // Waits until the scrolling has stopped.
    await page.waitForTimeout(150)
    const drift = ask<number>(page, `probes.drift(${stillMs})`)
    const above = said[step % said.length]!
    above.isLong = !above.isLong
    const content = above.isLong ? `${step} in a row, `.repeat(60) : `${step} in a row`
    await put(`/messages/${above.id}`, { content }, author)
    drifts.push(await drift)
  }
  await context.close()
  const most = Math.max(...drifts)
  return webRow({
    work: 'drift of what is read, while older pages and images come and messages above are edited',
    ours: `${most.toFixed(1)} px at most in ${steps} places`,
    goal: '≤ 1 px',
    met: most <= 1,
    figures: drifts,
  })
}

/** The browser draws an image of noise, because that has as many bytes as a photograph. */
async function picture(browser: WebStage['browser'], side: number): Promise<string> {
  const page = await browser.newPage()
  const url = await ask<string>(
    page,
    `(() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: ${side}, height: ${side} })
      const context = canvas.getContext('2d')
      const data = context.createImageData(${side}, ${side})
      for (let n = 0; n < data.data.length; n++) data.data[n] = Math.random() * 255
      context.putImageData(data, 0, 0)
      return canvas.toDataURL('image/png')
    })()`,
  )
  await page.close()
  return url.slice(url.indexOf(',') + 1)
}
