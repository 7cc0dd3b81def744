import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'
import { act, article, channels, composer, hasFocus, openChannel } from './visitors.ts'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** The narrowest phone, and a page at a zoom of 400 %. */
const narrowest = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true }

const styleOf = (element: Locator, property: 'fontSize') =>
  element.evaluate((node, name) => getComputedStyle(node)[name], property)

/** The heights of the visible elements. One that is only for screen readers has one pixel. */
const heightsOf = (elements: Locator) =>
  elements.evaluateAll((nodes) =>
    nodes.map((node) => node.getBoundingClientRect().height).filter((height) => height > 1),
  )

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button }).click()
  return page.getByRole('dialog').getByRole('heading', { level: 2 })
}

/** Sizes and positions that a person would notice. */
describeSite('the layout of the web client', {}, (site) => {
  const { signIn } = site

  test('the buttons of a table are in sight on a phone', async () => {
    await Person.signIn(site.baseUrl, 'ann@example.com')
    const page = await signIn('ann', '/', phone)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sessions' }).click()
    const { x, width } = (await page.getByRole('button', { name: 'End session' }).first().boundingBox())!
    expect(x + width).toBeLessThanOrEqual(phone.viewport.width)
  })

  test('controls are large enough for a finger, and fields have a font that no browser enlarges', async () => {
    const ben = await Person.signIn(site.baseUrl, 'ben@example.com')
    const channel = await ben.creates({ name: 'fingers' })
    const page = await signIn('ben', `/c/${channel.id}`, phone)
    const box = page.getByRole('textbox', { name: 'Message fingers' })
    await box.waitFor()
    for (const field of [box, page.getByRole('searchbox', { name: 'Search' })]) {
      expect(Number.parseFloat(await styleOf(field, 'fontSize'))).toBeGreaterThanOrEqual(16)
    }
    await page.getByRole('button', { name: 'Channel settings' }).waitFor()
    expect(Math.min(...(await heightsOf(page.getByRole('button'))))).toBeGreaterThanOrEqual(36)
    // All buttons of the text box are in one line, also on the narrowest phone.
    for (const width of [phone.viewport.width, 320]) {
      await page.setViewportSize({ ...phone.viewport, width })
      const send = (await page.getByRole('button', { name: 'Send' }).boundingBox())!
      expect(send.y).toBe((await page.getByRole('button', { name: 'Bold' }).boundingBox())!.y)
      expect(send.x + send.width).toBeLessThan(width)
    }
  })

  test('a button begins a new line on a phone, where Enter sends and saves', async () => {
    const eda = await Person.signIn(site.baseUrl, 'eda@example.com')
    const channel = await eda.creates({ name: 'couplets' })
    const page = await signIn('eda', `/c/${channel.id}`, phone)
    const box = composer(page, 'couplets')
    const newLine = page.getByRole('button', { name: 'New line' })
    await box.fill('roses')
    await newLine.tap()
    await page.keyboard.type('violets')
    await hasFocus(box)
    await box.press('Enter')
    const message = article(page, 'roses')
    await expect.poll(() => message.innerText()).toContain('roses\nviolets')
    await act(page, 'roses', 'Edit')
    await message.getByRole('button', { name: 'New line' }).tap()
    await page.keyboard.type('sugar')
    await page.keyboard.press('Enter')
    await expect.poll(() => message.innerText()).toContain('roses\nviolets\nsugar')
    await expect
      .poll(async () => {
        await box.fill('- mint')
        await newLine.tap()
        // The code that continues lists is loaded after the first view.
        return box.inputValue()
      })
      .toBe('- mint\n- ')

    // There is no such key on a phone.
    await act(page, 'roses', 'Edit')
    await message.getByRole('button', { name: 'Cancel' }).waitFor()
    const hint = page.getByText('Enter saves, Escape cancels')
    expect([await hint.count(), await hint.isVisible()]).toEqual([1, false])

    const wide = await signIn('eda', `/c/${channel.id}`)
    await composer(wide, 'couplets').waitFor()
    expect(await wide.getByRole('button', { name: 'New line' }).count()).toBe(0)
  })

  test('the note about uploads leaves the buttons of a phone in one line', async () => {
    const flo = await Person.signIn(site.baseUrl, 'flo@example.com')
    const channel = await flo.creates({ name: 'uploads' })
    const page = await signIn('flo', `/c/${channel.id}`, { ...phone, withoutWorker: true })
    await page.route('**/files/binary*', () => {
      // The upload never ends.
    })
    const file = { name: 'chart.txt', mimeType: 'text/plain', buffer: Buffer.from('soundings') }
    await page.locator('.composer input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'Send' }).tap()
    const note = page.getByText('The message is sent when the files are uploaded')
    await note.waitFor()
    for (const width of [phone.viewport.width, 320]) {
      await page.setViewportSize({ ...phone.viewport, width })
      const [send, attach, box] = await Promise.all(
        [page.getByRole('button', { name: 'Send' }), page.getByTitle('Attach files'), note].map((one) =>
          one.boundingBox(),
        ),
      )
      expect([width, send!.y]).toEqual([width, attach!.y])
      expect(send!.y).toBeGreaterThanOrEqual(box!.y + box!.height)
      expect(send!.x + send!.width).toBeLessThan(width - 10)
    }
  })

  test('a dialog has the same heading on every page', async () => {
    const page = await signIn('admin')
    const size = await styleOf(await openDialog(page, 'Create channel'), 'fontSize')
    await page.goto(`${site.baseUrl}/admin/bots`)
    expect(await styleOf(await openDialog(page, 'Create bot'), 'fontSize')).toBe(size)
  })

  test('the time of a message is beside the name of its author, however long the name is', async () => {
    const name = 'Maximiliane-Friederike Wilhelmine zu Hohenlohe'
    const author = await Person.signIn(site.baseUrl, 'long@example.com')
    expect(await author.put('/users/me', { userName: name })).toMatchObject({ status: 200 })
    const channel = await author.creates({ name: 'long names' })
    await author.says('a text', channel)
    const page = await signIn('long', '/', phone)
    await page.getByRole('button', { name: 'Navigation' }).click()
    await openChannel(page, 'long names')
    const message = article(page, 'a text')
    const { y, height } = (await message.getByRole('button', { name }).boundingBox())!
    const time = (await message.getByRole('link').first().boundingBox())!
    expect(time.y).toBeLessThan(y + height / 2)
  })

  test('the lines of the card of a person begin at the same edge, also those of another direction', async () => {
    const quin = await Person.signIn(site.baseUrl, 'quin@example.com')
    await quin.put('/users/me', { displayName: 'Quin' })
    const channel = await quin.creates({ name: 'portraits' })
    await quin.says('a self-portrait', channel)
    const page = await signIn('quin', `/c/${channel.id}`)
    await page.evaluate(() => localStorage.setItem('parley.preferences', '{"language":"ar"}'))
    await page.reload()
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

  test('many images of a message are at least two in a line on a phone', async () => {
    const rae = await Person.signIn(site.baseUrl, 'rae@example.com')
    const channel = await rae.creates({ name: 'album' })
    const place = `/channels/${channel.id}/messages`
    const images: string[] = []
    for (let n = 1; n <= 4; n++) images.push(await rae.uploadsImage(place, `${n}.png`, png(400, 300, [90, 40 * n, 60])))
    await rae.sends(channel, { content: 'all four', images })
    const page = await signIn('rae', `/c/${channel.id}`, { ...phone, viewport: { width: 360, height: 640 } })
    const shown = article(page, 'all four').getByRole('button', { name: /\d\.png/ })
    await shown.nth(3).waitFor()
    const [first, second, third] = await shown.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().y))
    expect(second).toBe(first)
    expect(third).toBeGreaterThan(first!)
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
    const endOf = async (element: Locator) => {
      const { y, height } = (await element.boundingBox())!
      return y + height
    }
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

  test('a finger scrolls the suggestions, and chooses one without pressing what is below the list', async () => {
    const writer = await Person.signIn(site.baseUrl, 'toucher@example.com')
    const channel = await writer.creates({ name: 'touch-typing' })
    for (let n = 1; n <= 8; n++) {
      await Person.signIn(site.baseUrl, `toucher-${n}@example.com`)
      await writer.says('words '.repeat(60), channel)
    }
    const page = await signIn('toucher', `/c/${channel.id}`, { ...phone, viewport: { width: 390, height: 400 } })
    const box = composer(page, 'touch-typing')
    await box.tap()
    await page.keyboard.type('@toucher-')
    const list = page.getByRole('listbox', { name: 'Suggestions' })
    await list.getByRole('option').nth(7).waitFor()
    const { x, y } = (await list.getByRole('option').nth(2).boundingBox())!
    const devtools = await page.context().newCDPSession(page)
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
      devtools.send('Input.dispatchTouchEvent', { type, touchPoints })
    await touch('touchStart', { x: x + 20, y: y + 20 })
    for (const moved of [20, 60, 100]) await touch('touchMove', { x: x + 20, y: y + 20 - moved })
    await touch('touchEnd')
    await expect.poll(() => list.evaluate((element) => element.scrollTop)).toBeGreaterThan(0)
    expect(await box.inputValue()).toBe('@toucher-')
    await list.getByRole('option', { name: 'toucher-4' }).tap()
    expect(await box.inputValue()).toBe('@toucher-4 ')
    await list.waitFor({ state: 'detached' })
    expect(await box.evaluate((element) => element === document.activeElement)).toBe(true)
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

  test('"Browse channels" and "Switch to" show names and topics to their ends on a phone', async () => {
    const hugo = await Person.signIn(site.baseUrl, 'hugo@example.com')
    const name = 'minutes-of-the-committee-for-the-house-rules-of-the-northern-building'
    const topic = 'Every Monday at nine in the large room on the first floor, with coffee and the minutes of last week'
    await hugo.creates({ name, topic })
    const page = await signIn('hugo', '/', phone)
    const isWhole = (element: Locator) =>
      element.evaluate((node) => node.scrollWidth <= node.clientWidth && node.scrollHeight <= node.clientHeight)
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('button', { name: 'Browse channels' }).click()
    const link = page.getByRole('dialog').getByRole('link', { name })
    expect(await isWhole(link)).toBe(true)
    expect(await isWhole(link.locator('.name'))).toBe(true)
    expect(await isWhole(link.getByText(topic))).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    expect(await isWhole(page.getByRole('option').getByText(name))).toBe(true)
  })

  test('many choices with long names do not overlap', async () => {
    const ida = await Person.signIn(site.baseUrl, 'ida@example.com')
    const name = 'minutes-of-the-board-that-decides-on-the-new-roof-in-year'
    for (let year = 2001; year <= 2012; year++) await ida.creates({ name: `${name}-${year}` })
    const page = await signIn('ida', '/', phone)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Channel or person' }).fill(name)
    const options = page.getByRole('option', { name })
    await expect.poll(() => options.count()).toBeGreaterThanOrEqual(8)
    const hidden = await options.evaluateAll((all) => all.map((one) => one.scrollHeight - one.clientHeight))
    expect(Math.max(...hidden)).toBe(0)
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

  test('nothing of a form overlaps or scrolls sideways on the narrowest phone', async () => {
    const page = await signIn('admin', '/search?q=word', narrowest)
    const sideways = (scroller: Locator) => scroller.evaluate((node) => node.scrollWidth - node.clientWidth)
    const filters = page.getByRole('form', { name: 'Filters' })
    await filters.getByRole('button', { name: 'Filters' }).tap()
    await filters.getByLabel('Before').waitFor()
    expect(await sideways(page.locator('.page'))).toBe(0)
    const withMouse = await signIn('admin', '/search?q=word', { viewport: narrowest.viewport })
    const filtersWithMouse = withMouse.getByRole('form', { name: 'Filters' })
    await filtersWithMouse.getByRole('button', { name: 'Filters' }).click()
    expect(await sideways(filtersWithMouse)).toBe(0)
    await page.goto(`${site.baseUrl}/admin/bots`)
    await page.getByRole('button', { name: 'Create bot' }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('narrow')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('row', { name: /narrow/ }).waitFor()
    await page.goto(`${site.baseUrl}/admin/subscriptions`)
    await page.getByRole('button', { name: 'Create subscription' }).click()
    expect(await sideways(page.getByRole('group', { name: 'Events' }))).toBe(0)
  })

  test('the results of a search have the space of a phone, and a button shows the filters', async () => {
    const nan = await Person.signIn(site.baseUrl, 'nan@example.com')
    await nan.says('a rare pebble', await nan.creates({ name: 'beach' }))
    const page = await signIn('nan', '/search?q=pebble', phone)
    const filters = page.getByRole('form', { name: 'Filters' })
    const show = filters.getByRole('button', { name: 'Filters' })
    const from = filters.getByLabel('From')
    const found = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    await found.waitFor()
    expect((await found.boundingBox())!.y).toBeLessThan(phone.viewport.height / 3)
    expect(await show.getAttribute('aria-expanded')).toBe('false')
    await from.waitFor({ state: 'hidden' })
    await show.tap()
    await from.fill('nan')
    expect(await show.getAttribute('aria-expanded')).toBe('true')
    await filters.getByRole('button', { name: 'Filter', exact: true }).tap()
    await page.getByRole('button', { name: 'Remove from:nan' }).waitFor()
    await from.waitFor({ state: 'hidden' })
    await found.waitFor()

    const wide = await signIn('nan', '/search?q=pebble')
    await wide.getByRole('form', { name: 'Filters' }).getByLabel('From').waitFor()
    await wide.getByRole('button', { name: 'Filters' }).waitFor({ state: 'hidden' })
  })

  test('the viewer of images shows its buttons below an image with a long name, and on the narrowest phone', async () => {
    const pia = await Person.signIn(site.baseUrl, 'pia@example.com')
    const channel = await pia.creates({ name: 'long exposure' })
    const place = `/channels/${channel.id}/messages`
    const names = [`${'photograph-'.repeat(8)}1.png`, 'tall.png']
    const images: string[] = []
    for (const name of names)
      images.push(await pia.uploadsImage(place, name, png(40, name === 'tall.png' ? 900 : 60, [9, 81, 201])))
    await pia.sends(channel, { content: 'from the harbour', images })
    const page = await signIn('pia', `/c/${channel.id}`, phone)
    await article(page, 'from the harbour').getByRole('img').first().tap()
    const viewer = page.getByRole('dialog')
    const download = viewer.getByRole('link', { name: 'Download' })
    const next = viewer.getByRole('button', { name: 'Next image' })
    const endOf = async (element: Locator) => {
      const { y, height } = (await element.boundingBox())!
      return y + height
    }
    await download.waitFor()
    await expect.poll(async () => (await endOf(download)) <= (await endOf(viewer))).toBe(true)
    await next.tap()
    await viewer.getByRole('img', { name: 'tall.png' }).waitFor()
    await page.setViewportSize(narrowest.viewport)
    const lines = (element: Locator) =>
      element.evaluate((node) => {
        const text = document.createRange()
        text.selectNodeContents(node)
        return new Set([...text.getClientRects()].map(({ top }) => Math.round(top))).size
      })
    expect(await lines(download)).toBe(1)
    expect(await endOf(viewer.getByRole('img'))).toBeLessThanOrEqual((await next.boundingBox())!.y)
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

  test('above the keyboard of a phone, an empty channel stays below its head, and suggestions stay below the top', async () => {
    const iris = await Person.signIn(site.baseUrl, 'iris@example.com')
    const channel = await iris.creates({ name: 'keys' })
    const page = await signIn('iris', `/c/${channel.id}`, { ...narrowest, viewport: { width: 320, height: 300 } })
    const endOf = async (element: Locator) => {
      const { y, height } = (await element.boundingBox())!
      return y + height
    }
    const title = page.getByText('No messages yet')
    await title.waitFor()
    const head = await endOf(page.getByRole('banner').or(page.locator('.main-head')).last())
    const topOf = (element: Locator) => element.evaluate((node) => node.getBoundingClientRect().top)
    for (const part of await page.getByRole('log').locator('.empty > :visible').all()) {
      expect(await topOf(part)).toBeGreaterThanOrEqual(head)
    }
    const box = page.getByRole('textbox', { name: 'Message keys' })
    await box.fill('one\ntwo\nthree\nfour\nfive\nsix\n')
    await box.pressSequentially('Hello :smi')
    const list = page.getByRole('listbox')
    await list.getByRole('option', { selected: true }).waitFor()
    expect(await topOf(list)).toBeGreaterThanOrEqual(0)
    expect(await endOf(list)).toBeLessThanOrEqual(await topOf(box))
  })

  test('above the keyboard of a phone, all of an edited message is in sight, and then the text box has the focus', async () => {
    const judy = await Person.signIn(site.baseUrl, 'judy@example.com')
    const channel = await judy.creates({ name: 'keyboard' })
    await judy.says('a first text', channel)
    const page = await signIn('judy', `/c/${channel.id}`, { ...narrowest, viewport: { width: 320, height: 300 } })
    const box = page.getByRole('textbox', { name: 'Message keyboard' })
    await article(page, 'a first text').waitFor()
    await box.press('ArrowUp')
    const editor = page.getByRole('textbox', { name: 'Edit message' })
    await editor.waitFor()
    const save = (await page.getByRole('button', { name: 'Save' }).boundingBox())!
    const onTop = await page.evaluate(({ x, y }) => document.elementFromPoint(x, y)?.textContent, {
      x: save.x + save.width / 2,
      y: save.y + save.height - 1,
    })
    expect(onTop).toBe('Save')
    await editor.fill('a second text')
    await editor.press('Enter')
    await article(page, 'a second text').waitFor()
    await editor.waitFor({ state: 'detached' })
    await hasFocus(box)
  })

  test('the name of a channel makes the text box no higher, and stays within a search result', async () => {
    const kim = await Person.signIn(site.baseUrl, 'kim@example.com')
    const long = await kim.creates({ name: 'l'.repeat(80) })
    const short = await kim.creates({ name: 'short' })
    for (const channel of [long, short]) await kim.says('a needle', channel)
    const page = await signIn('kim', `/c/${short.id}`, narrowest)
    const heightOf = async (name: string) => {
      const box = page.getByRole('textbox', { name: `Message ${name}` })
      await box.waitFor()
      return heightsOf(box)
    }
    const height = await heightOf('short')
    await page.goto(`${site.baseUrl}/c/${long.id}`)
    expect(await heightOf('lll')).toEqual(height)
    await page.goto(`${site.baseUrl}/search?q=needle`)
    const where = page.locator('.found').getByRole('link', { name: 'lll' })
    await where.waitFor()
    expect(await heightsOf(page.locator('.found').getByRole('link', { name: 'short' }))).toEqual([24])
    const { x, width } = (await where.boundingBox())!
    expect(x + width).toBeLessThanOrEqual(narrowest.viewport.width)
  })

  test('many chosen files leave space for the text box on a phone', async () => {
    const lea = await Person.signIn(site.baseUrl, 'lea@example.com')
    const channel = await lea.creates({ name: 'albums' })
    const page = await signIn('lea', `/c/${channel.id}`, phone)
    const files = Array.from({ length: 30 }, (_, n) => ({
      name: `page-${n + 1}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`page ${n + 1}`),
    }))
    await page.locator('main input[type=file]').setInputFiles(files)
    await page.getByRole('button', { name: 'Remove page-30.txt' }).waitFor()
    const { y, height } = (await page.getByRole('button', { name: 'Send' }).boundingBox())!
    expect(y + height).toBeLessThanOrEqual(phone.viewport.height)
    await composer(page, 'albums').press('Enter')
    await article(page, 'page-30.txt').waitFor()
  })
})
