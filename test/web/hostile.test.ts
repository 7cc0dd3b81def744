import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { whitePng } from './pictures.ts'
import { describeSite } from './site.ts'
import { article, composer } from './visitors.ts'

const zalgo = `z${'\u0353\u0349\u0316'.repeat(300)}algo`
const texts: Record<string, string> = {
  html: '<img src=x onerror=alert(1)><script>alert(1)</script><svg/onload=alert(1)> end-html',
  links: '[a](javascript:alert(1)) [b](data:text/html,<script>alert(1)</script>) javascript:alert(1) end-links',
  bidi: 'invoice\u202efdp.exe \u2066\u2067\u200f end-bidi',
  zalgo: `${zalgo} end-zalgo`,
  long: `${'w'.repeat(15_000)} end-long`,
  brackets: `${'['.repeat(15_900)} end-brackets`,
  emphasis: `${'*a_ '.repeat(3_900)} end-emphasis`,
  quotes: `${'>'.repeat(8_000)} end-quotes`,
  code: `\`\`\`\n${'x'.repeat(5_000)}\n\`\`\`\nend-code`,
}

/** Texts of strangers neither run as scripts nor break the page. */
describeSite('the web client and hostile content', { timeout: 120_000 }, (site) => {
  const { signIn } = site

  test.each([1280, 390])('hostile texts are shown as text and do not overflow, at %i pixels', async (width) => {
    const mallory = await Person.signIn(site.baseUrl, 'mallory@example.com')
    await mallory.put('/users/me', { userName: `<b onclick=alert(1)>${width}` })
    const { channel } = (
      await mallory.post('/channels', { name: `<i>${zalgo.slice(0, 60)}${width}`, topic: texts.html!.slice(0, 250) })
    ).body
    for (const text of Object.values(texts)) await mallory.says(text, channel)
    const path = `/channels/${channel.id}/messages/image`
    const image = (await mallory.post(path, { filename: 'huge.png', image: whitePng(5_000).toString('base64') })).body
    await mallory.sends(channel, { content: 'end-image', images: [image.filename] })

    const page = await signIn('victim', `/c/${channel.id}`, { viewport: { width, height: 800 } })
    // While the list is still being filled, scrolling would show other messages.
    await article(page, /end-image/).waitFor()
    for (const name of ['image', ...Object.keys(texts).reverse()]) {
      const message = article(page, new RegExp(`end-${name}`))
      for (let n = 0; n < 200 && !(await message.count()); n++) {
        await page.getByRole('feed').hover()
        await page.mouse.wheel(0, -500)
        await page.evaluate(() => new Promise(requestAnimationFrame))
        // Scrolling on before the rows are rendered would skip the message.
        await page.locator('[role=feed][aria-busy=false]').first().waitFor()
      }
      await message.waitFor()
      expect(
        await message.locator('script, iframe, [onerror], [onclick], a[href^="javascript"], a[href^="data"]').count(),
      ).toBe(0)
      expect(await message.locator('.text').textContent()).not.toMatch(/\p{M}{31}/u)
      const box = (await message.boundingBox())!
      expect([name, box.x >= 0 && box.x + box.width <= width]).toEqual([name, true])
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    await composer(page, '').first().click()
  })

  test('images that could keep the browser busy are shown only when a person opens them', async () => {
    const mallory = await Person.signIn(site.baseUrl, 'mallory@example.com')
    const channel = await mallory.creates({ name: 'pixels' })
    const uploads = async (filename: string, bytes: Buffer): Promise<string> => {
      const image = { filename, image: bytes.toString('base64') }
      return (await mallory.post(`/channels/${channel.id}/messages/image`, image)).body.filename
    }
    const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    const images = [
      await uploads('large.png', whitePng(7_200)),
      await uploads('drawing.svg', drawing),
      await uploads('small.png', whitePng(100)),
    ]
    await mallory.sends(channel, { content: 'three images', images })

    const page = await signIn('victim', `/c/${channel.id}`)
    const message = article(page, 'three images')
    const addressOf = (name: string) => message.getByRole('img', { name }).getAttribute('src')
    await expect.poll(() => addressOf('small.png')).toMatch(/^blob:/)
    expect([await addressOf('large.png'), await addressOf('drawing.svg')]).toEqual([null, null])
    const button = message.getByRole('button', { name: 'drawing.svg' })
    expect((await button.boundingBox())!.width).toBeGreaterThan(200)

    // In the viewer, the arrow keys do not open them either.
    await message.getByRole('button', { name: 'small.png' }).click()
    const viewer = page.getByRole('dialog')
    await viewer.getByRole('img', { name: 'small.png' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    expect(await viewer.getByRole('img').getAttribute('alt')).toBe('small.png')
    expect(await viewer.getByRole('button', { name: 'Next image' }).count()).toBe(0)
    await page.keyboard.press('Escape')

    await button.click()
    await expect.poll(() => page.getByRole('dialog').getByRole('img').getAttribute('src')).toMatch(/^blob:/)
  })

  test('posts of programs are shown as intended, and cannot run scripts', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name: 'alerts' })
    const { url } = (await admin.post('/webhooks', { name: 'monitor', channelId: channel.id })).body.webhook
    const post = async (payload: object) => {
      const { pathname } = new URL(url)
      expect((await Person.nobody(site.baseUrl).post(pathname, payload)).status).toBe(200)
    }
    await post(report)

    const page = await signIn('admin', `/c/${channel.id}`, { viewport: { width: 390, height: 800 } })
    const good = article(page, 'Disk is full')
    await good.locator('.avatar', { hasText: '🚀' }).waitFor()
    expect(await good.locator('.author').textContent()).toBe('Watch BOT via monitor')
    expect(await good.getByRole('link', { name: 'Open' }).getAttribute('href')).toBe('https://watch.example/1')
    expect(await good.getByRole('link', { name: 'graph' }).getAttribute('href')).toBe('https://watch.example/1.png')
    await good.getByRole('button', { name: 'Silence' }).click()
    await good.getByRole('alert').filter({ hasText: 'does not handle clicks' }).waitFor()
    expect(await good.getByRole('columnheader').allTextContents()).toEqual(['host', 'free'])
    expect(await good.locator('strong').allTextContents()).toEqual(['Host', 'now'])
    const bar = good.locator('.block-attachment')
    expect(await bar.evaluate((node) => getComputedStyle(node).borderInlineStartColor)).toBe('rgb(224, 30, 90)')

    await post(attack)
    const bad = article(page, 'end-attack')
    await bad.waitFor()
    expect(await bad.locator('.block-header').textContent()).toBe(attack.blocks[0].text.text)
    expect(await bad.locator('script, img, iframe, [onerror], a[href^="javascript"], a[href^="data"]').count()).toBe(0)
    const table = bad.locator('.table-scroller')
    expect(await table.evaluate((node) => node.scrollWidth > node.clientWidth)).toBe(true)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })
})

const plain = (text: string) => ({ type: 'plain_text', text })
const raw = (text: string) => ({ type: 'raw_text', text })
const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })

/** A post of a monitoring program. */
const report = {
  text: 'Disk is full',
  username: 'Watch',
  icon_emoji: ':rocket:',
  blocks: [
    { type: 'header', text: plain('Disk is full') },
    { type: 'section', text: mrkdwn('On <https://watch.example/hosts/1|db-1>'), fields: [mrkdwn('*Host*\ndb-1')] },
    { type: 'divider' },
    { type: 'image', image_url: 'https://watch.example/1.png', alt_text: 'graph' },
    {
      type: 'rich_text',
      elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'now', style: { bold: true } }] }],
    },
    {
      type: 'table',
      rows: [
        [raw('host'), raw('free')],
        [raw('db-1'), raw('0 %')],
      ],
    },
    {
      type: 'actions',
      elements: [
        { type: 'button', text: plain('Open'), url: 'https://watch.example/1' },
        { type: 'button', text: plain('Silence'), value: '1' },
      ],
    },
  ],
  attachments: [{ color: 'danger', text: 'since an hour', footer: 'Watch 2' }],
}

/** A post of an attacker who has found the address of the webhook. */
const attack = {
  icon_url: 'https://tracker.example/pixel.png',
  blocks: [
    { type: 'header', text: plain('<img src=x onerror=alert(1)>') },
    {
      type: 'section',
      text: mrkdwn('<javascript:alert(1)|a> <script>alert(1)</script>'),
      accessory: { type: 'image', image_url: 'https://tracker.example/pixel.png', alt_text: '' },
    },
    { type: 'image', image_url: 'javascript:alert(1)', alt_text: 'x' },
    { type: 'actions', elements: [{ type: 'button', text: plain('w'.repeat(75)), url: 'javascript:alert(1)' }] },
    {
      type: 'rich_text',
      elements: [
        { type: 'rich_text_section', elements: [{ type: 'link', url: 'data:text/html,<script>', text: 'b' }] },
        { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'x'.repeat(2_000) }] },
      ],
    },
    { type: 'table', rows: [Array.from({ length: 20 }, () => raw('w'.repeat(200)))] },
    { type: '__proto__', text: { text: { text: 'nested' } } },
    { type: 'context', elements: [mrkdwn('end-attack')] },
  ],
  attachments: [{ color: 'red;background:url(//tracker.example)', text: 'w'.repeat(3_000) }],
} as const
