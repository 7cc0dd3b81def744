import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { endOf } from './measures.ts'
import { phone } from './phones.ts'
import type { Site } from './site.ts'
import { article, composer } from './visitors.ts'

/** The page for people who enlarge it: large fonts, wide text spacing, and a zoom of 400 %, which leaves 320 pixels. */
export function enlargedJourneys(site: Site) {
  const { signIn } = site

  test('with a font of twice the size, everything in the head, the text box and the menu of a phone is in sight', async () => {
    const rae = await Person.signIn(site.baseUrl, 'rae@example.com')
    const channel = await rae.creates({ name: 'headlands' })
    const page = await signIn('rae', '/', phone)
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Page.setFontSizes', { fontSizes: { standard: 32 } })
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    const box = composer(page, 'headlands')
    await box.waitFor()
    const isInside = async (element: Locator) => {
      const { x, width } = (await element.boundingBox())!
      return x >= 0 && x + width <= phone.viewport.width
    }
    const heading = page.getByRole('heading', { level: 1, name: 'headlands' })
    expect(await heading.evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0)
    for (const name of ['Pinned messages', 'Channel settings'])
      expect([name, await isInside(page.getByRole('button', { name }))]).toEqual([name, true])
    // No icon is over the next one, or over the border of the text box.
    for (const name of ['New line', 'Bold', 'Emoji', 'Send']) {
      const button = page.getByRole('button', { name })
      const [face, icon] = [(await button.boundingBox())!, (await button.locator('.icon').boundingBox())!]
      expect([name, icon.x >= face.x && icon.x + icon.width <= face.x + face.width]).toEqual([name, true])
    }
    await page.setViewportSize({ width: 320, height: 640 })
    const edges = (element: Locator) =>
      element.evaluate((node) => {
        const { left, right } = node.getBoundingClientRect()
        return [left, right]
      })
    const [border, row] = await Promise.all([edges(page.locator('.composer')), edges(page.locator('.composer-row'))])
    const send = await edges(page.getByRole('button', { name: 'Send' }))
    expect(send[1]).toBeLessThanOrEqual(Math.min(border[1]!, row[1]!))
    await page.setViewportSize(phone.viewport)
    await page.getByRole('button', { name: 'Account' }).tap()
    expect(await isInside(page.getByRole('menuitem', { name: 'Mark all as read' }))).toBe(true)
  })

  test('a page of 320 pixels shows all labels of the preferences, and all fields of a search', async () => {
    const page = await signIn('dana', '/preferences', { viewport: { width: 320, height: 640 } })
    for (const label of ['Theme', 'Density', 'Language']) {
      const { x, width } = (await page.getByText(label, { exact: true }).boundingBox())!
      const choice = (await page.getByRole('combobox', { name: label }).boundingBox())!
      expect(x + width).toBeLessThanOrEqual(choice.x)
      expect(await page.getByText(label, { exact: true }).evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(
        0,
      )
    }
    await page.goto(`${site.baseUrl}/search?q=word`)
    const filters = page.getByRole('form', { name: 'Filters' })
    await filters.getByRole('button', { name: 'Filters' }).click()
    for (const control of [
      filters.getByLabel('In'),
      filters.getByLabel('Before'),
      filters.getByRole('button', { name: 'Filter', exact: true }),
    ]) {
      const { x, width } = (await control.boundingBox())!
      expect(x + width).toBeLessThanOrEqual(320)
    }
  })

  test('every item of a menu and every suggestion is reached in a low window, such as at a zoom of 400 %', async () => {
    const ella = await Person.signIn(site.baseUrl, 'ella@example.com')
    const channel = await ella.creates({ name: 'low' })
    const page = await signIn('ella', `/c/${channel.id}`, { viewport: { width: 320, height: 256 } })
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Profile' }).press('End')
    const last = page.getByRole('menuitem', { name: 'Sign out' })
    await expect.poll(() => endOf(last)).toBeLessThanOrEqual(256)
    await last.press('Escape')
    const box = page.getByRole('textbox', { name: 'Message low' })
    await box.pressSequentially('Hello :smi')
    const marked = page.getByRole('option', { selected: true })
    await marked.waitFor()
    const list = page.getByRole('listbox')
    expect((await list.boundingBox())!.y).toBeGreaterThanOrEqual(0)
    // Above the first suggestion is the last one.
    await box.press('ArrowUp')
    await list.getByRole('option').last().and(marked).waitFor()
    expect(await endOf(marked)).toBeLessThanOrEqual(await endOf(list))
  })

  test('the roles of people can be read with the text spacing of WCAG', async () => {
    await Person.signIn(site.baseUrl, 'somebody.with.a.long.address.in.the.table@example.com')
    const page = await signIn('admin', '/admin/people')
    const role = page.getByRole('row').filter({ hasText: 'somebody.with' }).getByRole('combobox', { name: 'Role' })
    await role.waitFor()
    const cut = await role.evaluate((select) => {
      const spacing = new CSSStyleSheet()
      spacing.replaceSync('* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }')
      document.adoptedStyleSheets = [spacing]
      const { width } = select.getBoundingClientRect()
      select.style.inlineSize = 'max-content'
      return select.getBoundingClientRect().width - width
    })
    expect(cut).toBeLessThanOrEqual(0)
  })

  test('the replies of a thread and every text box can be read in a low window, such as at a zoom of 400 %', async () => {
    const finn = await Person.signIn(site.baseUrl, 'finn@example.com')
    const channel = await finn.creates({ name: 'shallow' })
    const parent = await finn.says('the beginning', channel)
    for (let n = 1; n <= 9; n++) await finn.post(`/messages/${parent.id}/thread`, { content: `reply ${n}` })
    const page = await signIn('finn', `/c/${channel.id}/t/${parent.id}`, { viewport: { width: 320, height: 256 } })
    const thread = page.getByRole('complementary', { name: 'Thread' })
    const feed = thread.getByRole('feed')
    await feed.getByRole('article').filter({ hasText: 'reply 9' }).waitFor()
    expect((await feed.boundingBox())!.height).toBeGreaterThan(100)
    const isInSight = async (name: string) => {
      const { y, height } = (await page.getByRole('button', { name }).filter({ visible: true }).last().boundingBox())!
      return y >= 0 && y + height <= page.viewportSize()!.height
    }
    await expect.poll(() => isInSight('Send')).toBe(true)
    const suggestions = thread.getByRole('listbox')
    await thread.getByRole('textbox', { name: 'Reply' }).pressSequentially('Hi @fi')
    await suggestions.waitFor()
    expect(await isInSight('Send')).toBe(true)
    expect((await suggestions.boundingBox())!.y).toBeGreaterThanOrEqual(0)
    await page.keyboard.press('Escape')
    await thread.getByRole('button', { name: 'Close' }).focus()
    await expect.poll(() => isInSight('Close')).toBe(true)

    // As above the keyboard of a phone on its side.
    await page.setViewportSize({ width: 667, height: 180 })
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    await article(page, 'the beginning').waitFor()
    await expect.poll(() => isInSight('Send')).toBe(true)
    // As in a window of 1280 x 800 pixels at a zoom of 400 %: the last line of a message is above the text box.
    await page.setViewportSize({ width: 320, height: 200 })
    const isSeen = (line: Element) => {
      const { x, y, width, height } = line.getBoundingClientRect()
      return [2, height - 2].every((offset) => line.contains(document.elementFromPoint(x + width / 2, y + offset)))
    }
    const replies = article(page, 'the beginning').getByRole('link', { name: /^9 replies/ })
    await expect.poll(() => replies.evaluate(isSeen)).toBe(true)
    await expect.poll(() => isInSight('Emoji')).toBe(true)
  })
}
