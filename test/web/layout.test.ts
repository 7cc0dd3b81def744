import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { enlargedJourneys } from './enlarged-journeys.ts'
import { styleOf } from './measures.ts'
import { phoneJourneys } from './phone-journeys.ts'
import { phoneWritingJourneys } from './phone-writing-journeys.ts'
import { describeSite } from './site.ts'
import { act, article, channels, composer, createChannel, say, showIn } from './visitors.ts'

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button }).click()
  return page.getByRole('dialog').getByRole('heading', { level: 2 })
}

/** Sizes and positions that a person would notice. The tests in this file are about large windows. */
describeSite('the layout of the web client', {}, (site) => {
  const { signIn } = site
  phoneJourneys(site)
  phoneWritingJourneys(site)
  enlargedJourneys(site)

  test('a dialog has the same heading on every page', async () => {
    const page = await signIn('admin')
    const size = await styleOf(await openDialog(page, 'Create channel'), 'fontSize')
    await page.goto(`${site.baseUrl}/admin/bots`)
    expect(await styleOf(await openDialog(page, 'Create bot'), 'fontSize')).toBe(size)
  })

  test('the lines of the card of a person begin at the same edge, also those of another direction', async () => {
    const quin = await Person.signIn(site.baseUrl, 'quin@example.com')
    await quin.put('/users/me', { displayName: 'Quin' })
    const channel = await quin.creates({ name: 'portraits' })
    await quin.says('a self-portrait', channel)
    const page = await signIn('quin', `/c/${channel.id}`)
    await showIn(page, 'ar')
    await article(page, 'a self-portrait').getByRole('button', { name: 'quin' }).click()
    const card = page.getByRole('dialog', { name: 'quin' })
    await card.getByText('Quin', { exact: true }).waitFor()
    const edges = await card.locator('p').evaluateAll((lines) =>
      lines.map((line) => {
        const text = document.createRange()
        text.selectNodeContents(line)
        return Math.round(text.getBoundingClientRect().right)
      }),
    )
    expect(edges.length).toBeGreaterThan(2)
    expect(new Set(edges).size).toBe(1)
  })

  test('a field of a page in Arabic begins where its text begins, and an empty one where the page begins', async () => {
    const page = await signIn('quin', '/profile')
    await showIn(page, 'ar')
    const field = page.locator('input[name=userName]')
    await expect.poll(() => field.inputValue()).toBe('quin')
    expect(await styleOf(field, 'direction')).toBe('ltr')
    await field.fill('')
    expect(await styleOf(field, 'direction')).toBe('rtl')
    await field.fill('مريم')
    expect(await styleOf(field, 'direction')).toBe('rtl')
  })

  test('beside a thread, a narrow window shows the whole name of the channel', async () => {
    const rae = await Person.signIn(site.baseUrl, 'rae@example.com')
    const channel = await rae.creates({ name: 'lighthouse keepers', topic: 'Who keeps which lighthouse' })
    const parent = await rae.says('who is on the island?', channel)
    const viewport = { width: 1024, height: 768 }
    const page = await signIn('rae', `/c/${channel.id}/t/${parent.id}`, { viewport })
    await page.getByRole('complementary', { name: 'Thread' }).getByRole('article').first().waitFor()
    const heading = page.getByRole('heading', { level: 1, name: 'lighthouse keepers' })
    // The buttons are loaded after the first view.
    await page.getByRole('button', { name: 'Mute' }).waitFor()
    expect(await heading.evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0)
    const members = page.getByRole('button', { name: '1 member' })
    expect(await members.isVisible()).toBe(false)
    await page.setViewportSize({ ...viewport, width: 1280 })
    await members.waitFor()
  })

  test('an address in a topic is a link, without the punctuation after it', async () => {
    const rae = await Person.signIn(site.baseUrl, 'rae@example.com')
    const topic = 'Rota: https://wiki.example/rota?w=1, then <script> (https://example.com/tides_(sea)).'
    const channel = await rae.creates({ name: 'tides', topic })
    const page = await signIn('rae', `/c/${channel.id}`)
    const links = page.getByRole('main').locator('.topic').getByRole('link')
    await links.nth(1).waitFor()
    expect(
      await links.evaluateAll((all) => all.map((each) => [(each as HTMLAnchorElement).href, each.textContent])),
    ).toEqual([
      ['https://wiki.example/rota?w=1', 'https://wiki.example/rota?w=1'],
      ['https://example.com/tides_(sea)', 'https://example.com/tides_(sea)'],
    ])
    expect(await page.locator('.topic').textContent()).toBe(topic)
  })

  test('a tooltip has the whole name and topic when they are cut', async () => {
    const rae = await Person.signIn(site.baseUrl, 'rae@example.com')
    const topic = 'Which ships have passed, and '.repeat(8)
    const channel = await rae.creates({ name: 'w'.repeat(80), topic })
    await rae.creates({ name: 'short one' })
    const page = await signIn('rae', `/c/${channel.id}`)
    const link = (name: string) => page.getByRole('link', { name }).locator('.name')
    const titleAfterHover = async (text: Locator) => {
      await page.mouse.move(0, 0)
      await text.hover()
      return text.getAttribute('title')
    }
    // The code is loaded after the first view.
    await expect.poll(() => titleAfterHover(link(channel.name))).toBe(channel.name)
    expect(await titleAfterHover(page.locator('.topic'))).toBe(topic.trim())
    expect(await titleAfterHover(page.getByRole('heading', { level: 1 }))).toBe(channel.name)
    expect(await titleAfterHover(link('short one'))).toBe(null)
    await page.getByRole('link', { name: 'short one' }).click()
    expect(await titleAfterHover(page.getByRole('heading', { level: 1, name: 'short one' }))).toBe(null)
  })

  test('the ring around a focused message encloses its background', async () => {
    const cleo = await Person.signIn(site.baseUrl, 'cleo@example.com')
    const channel = await cleo.creates({ name: 'rings' })
    await cleo.says('the first', channel)
    const page = await signIn('cleo', `/c/${channel.id}`)
    const message = article(page, 'the first')
    await message.focus()
    await page.keyboard.press('Home')
    const ring = () => message.evaluate((node) => getComputedStyle(node).boxShadow)
    expect(await ring()).toContain('inset')
    await page.emulateMedia({ forcedColors: 'active' })
    const outline = await message.evaluate((node) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(node)
      return [outlineStyle, outlineWidth]
    })
    expect(outline).toEqual(['solid', '2px'])
  })

  test('what has the focus shows it with the colours of the system', async () => {
    const page = await signIn('cleo', '/', { forcedColors: 'active' })
    const outlineOf = (element: Locator) => element.evaluate((node) => getComputedStyle(node).outline)
    /** Two pixels of a colour that is not transparent. */
    const visible = /^(?!rgba\(0, 0, 0, 0\)).* solid 2px$/
    await page.getByRole('searchbox', { name: 'Search' }).focus()
    expect(await outlineOf(page.getByRole('searchbox', { name: 'Search' }))).toMatch(visible)
    const box = composer(page, 'General')
    await box.focus()
    expect(await outlineOf(page.locator('.composer').filter({ has: box }))).toMatch(visible)
    await page.getByRole('button', { name: 'Account' }).press('Enter')
    const item = page.getByRole('menuitem', { name: 'Profile' })
    await expect.poll(() => outlineOf(item)).toMatch(visible)
  })

  test('the marked choice of "Switch to" is in sight', async () => {
    const finn = await Person.signIn(site.baseUrl, 'finn@example.com')
    for (let number = 1; number <= 14; number++) await finn.creates({ name: `choice ${number}` })
    const page = await signIn('finn', '/', { viewport: { width: 640, height: 400 } })
    await page.keyboard.press('Control+k')
    const dialog = page.getByRole('dialog', { name: 'Switch to' })
    await dialog.getByRole('option').nth(11).waitFor()
    const [list, marked] = [dialog.getByRole('listbox'), dialog.getByRole('option', { selected: true })]
    const isInSight = async () => {
      const [option, rows] = [(await marked.boundingBox())!, (await list.boundingBox())!]
      return option.y >= Math.max(0, rows.y) && option.y + option.height <= Math.min(400, rows.y + rows.height)
    }
    expect(await list.evaluate((rows) => rows.scrollHeight > rows.clientHeight)).toBe(true)
    const first = await marked.textContent()
    // From the first choice, ArrowUp leads to the last one, and ArrowDown back.
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => marked.textContent()).not.toBe(first)
    await expect.poll(isInSight).toBe(true)
    await page.keyboard.press('ArrowDown')
    await expect.poll(isInSight).toBe(true)
  })

  test('a double click on a button opens its dialog, which a click beside it closes', async () => {
    const page = await signIn('gwen')
    await page.getByRole('button', { name: 'Create channel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create channel' })
    await dialog.waitFor()
    // The second click of a double click.
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    await dialog.getByLabel('Name').fill('stays')
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
  })

  test('a thread is beside its channel only when there is space for both, and otherwise the channel stays unread', async () => {
    const [jan, kim] = [
      await Person.signIn(site.baseUrl, 'jan@example.com'),
      await Person.signIn(site.baseUrl, 'kim@example.com'),
    ]
    const channel = await jan.creates({ name: 'tablets' })
    const parent = await jan.says('Which one?', channel)
    const page = await signIn('jan', `/c/${channel.id}/t/${parent.id}`, { viewport: { width: 960, height: 700 } })
    const reply = page.getByRole('textbox', { name: 'Reply' })
    await reply.waitFor()
    await composer(page, 'tablets').waitFor()
    for (const place of [page.getByRole('main'), page.getByRole('complementary')]) {
      const { x, width } = (await place.boundingBox())!
      const send = (await place.getByRole('button', { name: 'Send' }).boundingBox())!
      expect(send.x + send.width).toBeLessThan(x + width)
    }
    await page.setViewportSize({ width: 940, height: 700 })
    await composer(page, 'tablets').waitFor({ state: 'hidden' })
    await reply.waitFor()
    await kim.says('The small one.', channel)
    const link = channels(page).getByRole('link', { name: /^tablets.*1 unread message/ })
    await link.waitFor()
    await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click()
    await composer(page, 'tablets').waitFor()
    await link.waitFor({ state: 'detached' })
  })

  test('few messages are above the composer, in the snapshot too, and few replies below their message', async () => {
    const ulf = await signIn('ulf')
    await createChannel(ulf, 'dinghy')
    await say(ulf, 'dinghy', 'two oars')
    const message = article(ulf, 'two oars')
    const below = (selector: string) =>
      ulf.evaluate((found) => {
        const [list, row] = [document.querySelector('.main .feed-scroller'), document.querySelector(found)]
        return list!.getBoundingClientRect().bottom - row!.getBoundingClientRect().bottom
      }, selector)
    await message.getByRole('link').waitFor({ state: 'attached' })
    expect(await below('.main article')).toBeLessThan(20)
    await act(ulf, 'two oars', 'Reply in thread')
    const thread = ulf.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('textbox', { name: 'Reply' }).fill('one leaks')
    await thread.getByRole('textbox', { name: 'Reply' }).press('Enter')
    const reply = thread.getByRole('feed').getByRole('article')
    await reply.getByRole('link').waitFor({ state: 'attached' })
    const [row, list] = [(await reply.boundingBox())!, (await thread.getByRole('feed').boundingBox())!]
    expect(row.y - list.y).toBeLessThan(60)
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    // It gives the focus back when it is removed.
    await thread.waitFor({ state: 'detached' })

    // When there are more than the list has space for, all of them can be reached.
    for (let n = 1; n <= 30; n++) await say(ulf, 'dinghy', `stroke ${n}.`)
    expect(await below('.main article:last-of-type')).toBeLessThan(20)
    // The first one may be too far away to be in the document.
    await ulf.locator('.main .feed-scroller').evaluate((scroller) => {
      scroller.scrollTop = 0
    })
    await expect.poll(async () => (await message.boundingBox())!.y).toBeGreaterThan(40)
  })

  test('a page is printed to its end and in its whole width, without the navigation', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name: 'paper' })
    for (let number = 0; number < 30; number++)
      await admin.post('/webhooks', { name: `hook ${number}`, channelId: channel.id })
    // The width of an A4 sheet between its margins.
    const page = await signIn('admin', '/admin/audit', { viewport: { width: 718, height: 600 } })
    await page.getByRole('row').nth(30).waitFor()
    await page.emulateMedia({ media: 'print' })
    await page.getByRole('navigation', { name: 'Administration' }).waitFor({ state: 'hidden' })
    const clipped = await page
      .locator('.page, .table-scroller')
      .evaluateAll((nodes) => nodes.filter((node) => node.scrollWidth > node.clientWidth).length)
    expect(clipped).toBe(0)
    const sheets = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g)
    expect(sheets!.length).toBeGreaterThan(1)
  })
})
