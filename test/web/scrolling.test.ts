import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article, untilDrawn } from './visitors.ts'

const messages = 400
/** Less than half of the viewport, in pixels. */
const turnPx = 250
const maxTurns = 1_500

/** Tests of the windowed list: it renders only rows near the viewport, and forgets the oldest messages while the person is at the end. */
describeSite('scrolling through a long channel', { timeout: 180_000 }, (site) => {
  const { signIn } = site

  test('shows each message in order and without holes, when scrolling up, down, and up again through forgotten messages', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'chronicle' })
    for (let n = 1; n <= messages; n++) await writer.says(`${n}: ${'words of some length '.repeat(n % 7)}`, channel)
    const page = await signIn('scroller', `/c/${channel.id}`)
    await article(page, `${messages}: `).waitFor()
    const all = Array.from({ length: messages }, (_, n) => n + 1)

    for (const way of ['up', 'down', 'up again'] as const) {
      const looks = await scrollThrough(page, way === 'down' ? turnPx : -turnPx, way === 'down' ? messages : 1)
      const seen = [...new Set(looks.flat())].sort((one, next) => one - next)
      expect([way, seen]).toEqual([way, all])
      // The messages that are visible at the same time are consecutive.
      const broken = looks.filter((look) => look.some((n, index) => index > 0 && n !== look[index - 1]! + 1))
      expect([way, broken]).toEqual([way, []])
    }
  })

  test('stays at the end while very many messages come, and forgets the oldest ones', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'flood' })
    await writer.says('before the flood', channel)
    const page = await signIn('watcher', `/c/${channel.id}`)
    await article(page, 'before the flood').waitFor()

    let next = 0
    const speak = async () => {
      while (next < 2 * messages) await writer.says(`${++next} of very many`, channel)
    }
    await Promise.all(Array.from({ length: 8 }, speak))
    await writer.says('after the flood', channel)
    await article(page, 'after the flood').waitFor()
    await expect.poll(() => inSight(page, /after the (flood)/)).toEqual(['flood'])
    expect(await page.getByRole('button', { name: 'Jump to newest' }).count()).toBe(0)
    const { scrollHeight, clientHeight } = await page
      .locator('.feed-scroller')
      .evaluate(({ scrollHeight, clientHeight }) => ({ scrollHeight, clientHeight }))
    // 800 messages are more than 20 viewports high.
    expect(scrollHeight / clientHeight).toBeLessThan(20)
  })
})

/** Scrolls with the mouse wheel until the message `last` is visible. Returns the visible messages before and after each event. */
async function scrollThrough(page: Page, px: number, last: number): Promise<number[][]> {
  const look = async () => (await inSight(page, /(\d+): /)).map(Number)
  await page.getByRole('feed').hover()
  const looks = [await look()]
  for (let turn = 0; turn < maxTurns && !looks.at(-1)?.includes(last); turn++) {
    await page.mouse.wheel(0, px)
    await untilDrawn(page)
    await page.locator('[role=feed][aria-busy=false]').waitFor()
    looks.push(await look())
  }
  return looks
}

/** The match of the pattern in each visible message, from top to bottom. */
const inSight = (page: Page, pattern: RegExp) =>
  page.getByRole('feed').evaluate((feed, source) => {
    const { top, bottom } = feed.getBoundingClientRect()
    const found = [...feed.querySelectorAll('article')].flatMap((element) => {
      const box = element.getBoundingClientRect()
      const [, said] = new RegExp(source).exec(element.querySelector('.text')?.textContent ?? '') ?? []
      return said !== undefined && box.bottom > top + 1 && box.top < bottom - 1 ? [{ said, top: box.top }] : []
    })
    return found.sort((one, next) => one.top - next.top).map(({ said }) => said)
  }, pattern.source)
