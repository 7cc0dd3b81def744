import { setTimeout } from 'node:timers/promises'
import type { CDPSession } from 'playwright-core'
import type { Row } from './report.ts'
import { ask, openAs, openChannel, openTab } from './web-pages.ts'
import { ms, webRow } from './web-rows.ts'
import type { WebStage } from './web-stage.ts'

/** The page may be behind by this number of messages. */
const batch = 1_000
const inFlight = 32
const looks = 5
const maxGrowth = 5e6
/** On a busy machine the measurement ends after this time, and the row says how many events arrived. */
const maxMs = 600_000
const paintsWithinMs = 120_000

/**
 * Measures the memory of an open page while very many events arrive: messages in the open channel and in others, edits,
 * reactions.
 */
export async function measureHeap(stage: WebStage): Promise<Row> {
  const { browser, baseUrl, channelId, events, post, put, reader, server } = stage
  const { context, page, session } = await openAs(browser, baseUrl, reader)
  // This measures memory, not time, so the processor need not be slow.
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await openChannel(page, baseUrl, channelId)
  const others = await ask<string[]>(
    page,
    `[...document.querySelectorAll('nav a[href^="/c/"]')].map(({ pathname }) => pathname.slice(3)).filter((id) => !id.includes('dm'))`,
  )
  const places = [channelId, ...others.filter((id) => id !== channelId).slice(0, 20)]
  const happen = async (n: number) => {
    const { token } = server.clients[1 + (n % 8)]!
    const place = places[n % 2 === 0 ? 0 : (n >> 1) % places.length]!
    const { message } = await post<{ message: { id: string } }>(
      `/channels/${place}/messages`,
      { content: `${n} of very many messages, none of which is kept for ever` },
      token,
    )
    if (n % 10 === 0) await put(`/messages/${message.id}`, { content: `${n}, changed` }, token)
    if (n % 10 === 5) await post(`/messages/${message.id}/reactions`, { reaction: '👍' }, token)
  }
  const heaps: number[] = []
  // One message in ten is also edited, and one in ten gets a reaction: 1.2 events a message.
  const messages = Math.round(events / 1.2)
  const begun = performance.now()
  let said = 0
  while (said < messages && performance.now() - begun < maxMs) {
    const from = said
    const work = async () => {
      while (said < Math.min(from + batch, messages)) await happen(said++)
    }
    await Promise.all(Array.from({ length: inFlight }, work))
    const content = `everything up to ${from} ${Date.now()}`
    const painted = ask(page, `probes.paintedAt(${JSON.stringify(content)})`)
    await post(`/channels/${channelId}/messages`, { content }, server.clients[1]!.token)
    await Promise.race([painted, fail(paintsWithinMs, 'the newest message was not painted')])
    if ((from / batch) % Math.ceil(messages / batch / looks) === 0) heaps.push(await heapOf(session))
  }
  await page.waitForTimeout(1_000)
  heaps.push(await heapOf(session))
  await context.close()
  const [first, last] = [heaps[0]!, heaps.at(-1)!]
  return webRow({
    work: `heap while ${Math.round(said * 1.2).toLocaleString('en')} events arrive, garbage collected`,
    ours: `${heaps.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')} MB`,
    goal: '≤ 60 MB, and flat',
    met: said === messages && Math.max(...heaps) <= 60e6 && last - first <= maxGrowth,
    figures: heaps,
  })
}

async function fail(afterMs: number, message: string): Promise<never> {
  await setTimeout(afterMs, undefined, { ref: false })
  throw new Error(`${message} within ${afterMs / 1_000} s`)
}

async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize
}

/** Messages that somebody could write to slow down the pages of their readers. */
const hostile: Record<string, string> = {
  html: '<img src=x onerror=alert(1)><script>alert(1)</script><svg/onload=alert(1)> '.repeat(200),
  links: '[a](javascript:alert(1)) [b](data:text/html,x) '.repeat(300),
  bidi: 'invoice\u202efdp.exe \u2066\u2067\u200f '.repeat(500),
  zalgo: `z${'\u0353\u0349\u0316'.repeat(300)}algo `.repeat(15),
  word: 'w'.repeat(15_000),
  brackets: '['.repeat(15_900),
  emphasis: '*a_ '.repeat(3_900),
  quotes: '>'.repeat(8_000),
  code: `\`\`\`\n${'x\n'.repeat(5_000)}\`\`\`\n`,
}
const watchedMs = 1_200

/** Measures how long such a message blocks the page: the longest gap between two frames. */
export async function measureHostile(stage: WebStage): Promise<Row> {
  const { browser, baseUrl, channelId, plain, post, reader, server } = stage
  const { context, page } = await openAs(browser, baseUrl, reader)
  await openChannel(page, baseUrl, channelId)
  const { page: other } = await openTab(context)
  await other.goto(`${plain.url}/?last=50`)
  const ours: Record<string, number> = {}
  const theirs: Record<string, number> = {}
  for (const [name, text] of Object.entries(hostile)) {
    const content = text.slice(0, 15_990)
    await other.bringToFront()
    const simple = ask<number>(other, longestFrame)
    plain.say({ author: 'somebody', content })
    theirs[name] = await simple
    await page.bringToFront()
    const longest = ask<number>(page, longestFrame)
    await post(`/channels/${channelId}/messages`, { content }, server.clients[1]!.token)
    ours[name] = await longest
    // The next message must not be measured together with this one.
    await post(`/channels/${channelId}/messages`, { content: 'a breath' }, server.clients[1]!.token)
    await page.waitForTimeout(300)
  }
  await context.close()
  const worst = (times: Record<string, number>) => Object.entries(times).sort((a, b) => b[1] - a[1])[0]!
  const text = ([name, time]: [string, number]) => `${ms(time)} (${name})`
  return webRow({
    work: `a hostile message of 16,000 characters arrives, the longest frame of ${Object.keys(hostile).length} kinds`,
    ours: text(worst(ours)),
    against: 'a plain document that adds the same text',
    theirs: text(worst(theirs)),
    goal: '≤ 50 ms',
    met: worst(ours)[1] <= 50,
    figures: { ours, theirs },
  })
}

const longestFrame = `new Promise((resolve) => {
  const begun = performance.now()
  let [before, longest] = [begun, 0]
  const step = (now) => {
    // The first gap may have begun before the message was sent.
    longest = Math.max(longest, now - before)
    before = now
    if (now - begun < ${watchedMs}) requestAnimationFrame(step)
    else resolve(longest)
  }
  requestAnimationFrame((now) => {
    before = now
    requestAnimationFrame(step)
  })
})`
