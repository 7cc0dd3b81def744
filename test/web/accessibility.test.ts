import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { findViolations, wcag } from './axe.ts'
import { whitePng } from './pictures.ts'
import { github } from './reports.ts'
import { describeSite } from './site.ts'
import { article } from './visitors.ts'

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } }
const schemes = ['light', 'dark'] as const
type Width = keyof typeof sizes
type Look = [width: Width, scheme: (typeof schemes)[number]]

const everyLook = (['wide', 'narrow'] as const).flatMap((width) => schemes.map((scheme): Look => [width, scheme]))
/**
 * The themes and widths that are tested in each language. A theme changes only colours, and a width or a language only the layout, so each
 * is tested where it could fail. TEST_LONG=1 tests all combinations.
 */
const looks: [language: string, looks: Look[]][] = process.env.TEST_LONG
  ? ['en', 'de', 'ar'].map((language) => [language, everyLook])
  : [
      [
        'en',
        [
          ['wide', 'light'],
          ['wide', 'dark'],
          ['narrow', 'light'],
        ],
      ],
      ['de', [['narrow', 'light']]],
      ['ar', [['wide', 'light']]],
    ]

const adminPages = 'people groups bots webhooks subscriptions commands sign-in scim settings audit export'.split(' ')

/** Tests every view in every language, in one page that is never reloaded. */
describeSite('WCAG 2.2 A and AA', { timeout: 240_000 }, (site) => {
  test.each(looks)('axe finds no violation in any view, %s', async (language, variants) => {
    const { channel, parent } = await fillChannel(site.baseUrl, language)
    const page = await site.openPage('/', { locale: language })
    await page.locator('input[type=email]').waitFor()
    await inspect(page, 'sign-in', variants)

    await page.locator('input[type=email]').fill('admin@example.com')
    await page.keyboard.press('Enter')
    await page.locator('.composer textarea').waitFor()

    const address = `/c/${channel.id}`
    const pages = adminPages.map((name) => `/admin/${name}`)
    const own = ['/preferences', '/profile', '/security', '/sessions', '/tokens']
    for (const shown of [
      `${address}/t/${parent.id}`,
      '/search?q=word',
      '/threads',
      '/mentions',
      '/saved',
      ...pages,
      ...own,
      '/c/nowhere',
      address,
    ]) {
      await show(page, shown)
      await inspect(page, shown, variants)
    }
    // Browse, create, new direct message, pins and settings, without their names. A dialog in the head has its own buttons.
    const buttons = page.locator('nav .section-head .icon-button, .main-head > .members ~ .icon-button')
    await page.setViewportSize(sizes.wide)
    await expect.poll(() => buttons.count()).toBe(5)
    for (const button of await buttons.all()) await inspectDialog(page, variants, () => button.click())
    await inspectDialog(page, variants, () => page.keyboard.press('Control+k'))
    await inspectDialog(page, variants, () => page.keyboard.press('Control+/'))
    await inspectDialog(page, variants, async () => {
      await page.locator('.top-bar [aria-haspopup]').click()
      await page.getByRole('menuitem').nth(1).click()
    })
    await inspectDialog(page, variants, async () => {
      await page.locator('.sidebar [aria-current=page]').click({ button: 'right' })
      const items = page.getByRole('menuitem')
      // The notifications, before the link, the settings and the way out.
      await items.nth((await items.count()) - 4).click()
    })
    const tools = article(page, 'quoted').locator('.message-tools button:not(.quick)')
    await inspectDialog(page, variants, async () => {
      await article(page, 'quoted').hover()
      await tools.first().click()
    })
    await tools.last().click()
    await inspect(page, 'menu of a message', variants)
  })
})

/** Creates a channel with messages that have all kinds of content. */
async function fillChannel(baseUrl: string, language: string) {
  const admin = await Person.signIn(baseUrl, 'admin@example.com')
  const channel = await admin.creates({ name: `views-${language}`, topic: 'What can be seen' })
  const { webhook } = (await admin.post('/webhooks', { name: 'builds', channelId: channel.id })).body
  await Person.nobody(baseUrl).post(new URL(webhook.url).pathname, github)
  const image = await admin.uploadsImage(`/channels/${channel.id}/messages`, 'white.png', whitePng(40))
  await admin.sends(channel, {
    content: 'with files',
    images: [image],
    attachments: [await admin.uploads('notes.txt', '1')],
  })
  await admin.says("```ts\nconst answer: number = 42 // 'text'\n```", channel)
  const parent = await admin.says(
    'A *word*, a `name`, @admin, @channel, :tada: and https://example.com\n> quoted\n- one',
    channel,
  )
  await admin.post(`/messages/${parent.id}/reactions`, { reaction: '🎉' })
  await admin.post(`/messages/${parent.id}/pin`)
  await admin.post(`/messages/${parent.id}/thread`, { content: 'an answer' })
  await admin.put(`/channels/${channel.id}/preferences`, { isMuted: true, isFavourite: true })
  return { channel, parent }
}

/** Navigates within the page, without a reload. */
async function show(page: Page, address: string) {
  await page.evaluate((to) => {
    history.pushState(null, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
    // After these frames the previous view is removed, and the next one is shown or busy.
    return new Promise<void>((rendered) => requestAnimationFrame(() => requestAnimationFrame(() => rendered())))
  }, address)
  // On a narrow page a thread covers it.
  await page.locator('main h1').waitFor({ state: 'attached' })
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
}

async function inspectDialog(page: Page, variants: Look[], open: () => Promise<unknown>) {
  await page.setViewportSize(sizes.wide)
  await open()
  await page.locator('dialog[open]').waitFor()
  const name = await page.locator('dialog[open] h2').textContent()
  await inspect(page, `dialog ${name}`, variants)
  await page.keyboard.press('Escape')
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
}

/** In the page: waits until the messages do not move any more. After a change of width the list measures them and moves them. */
const untilStill = `new Promise((resolve) => {
  let before
  let frames = 0
  const compare = () => {
    const boxes = [...document.querySelectorAll('article')].map((each) => each.getBoundingClientRect())
    const now = boxes.map(({ top, bottom, width }) => [top, bottom, width]).join()
    frames = now === before ? frames + 1 : 0
    before = now
    if (frames === 5) resolve()
    else requestAnimationFrame(compare)
  }
  compare()
})`

async function inspect(page: Page, view: string, variants: Look[]) {
  for (const [width, colorScheme] of variants) {
    await page.setViewportSize(sizes[width])
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(untilStill)
    const found = await findViolations(page, colorScheme === 'light' ? wcag : ['color-contrast'])
    expect([view, width, colorScheme, found]).toEqual([view, width, colorScheme, []])
    const scrolled = await page.evaluate(() => document.documentElement.scrollWidth)
    expect([view, scrolled]).toEqual([view, sizes[width].width])
  }
}
