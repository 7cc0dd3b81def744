import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { endOf, heightsOf, styleOf } from './measures.ts'
import { fingerOn, narrowest, phone } from './phones.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import { article, channels, composer, hasFocus, openChannel, untilDrawn } from './visitors.ts'

/** Sizes and positions on the screen of a phone. */
export function phoneJourneys(site: Site) {
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

  test('the Tab key follows the order of the bar above the page, on a phone and on a wide page', async () => {
    for (const [options, names] of [
      [phone, ['Navigation', 'Search', 'Account']],
      [{}, ['Account', 'Search']],
    ] as const) {
      const page = await signIn('tobias', '/', options)
      const [first, ...others] = names.map((name) => page.getByLabel(name, { exact: true }))
      await first!.focus()
      for (const next of others) {
        await page.keyboard.press('Tab')
        await hasFocus(next)
      }
    }
  })

  test('a long press on a channel opens its menu, also where browsers have no context menus, and does not open the channel', async () => {
    const luca = await Person.signIn(site.baseUrl, 'luca@example.com')
    await luca.creates({ name: 'bowsprit' })
    const page = await signIn('luca', '/', { ...phone, withoutWorker: true })
    // The menu is loaded after the first view, together with what sends this request.
    const isLoaded = page.waitForResponse((response) => response.url().endsWith('/saved/ids'))
    await page.goto(`${site.baseUrl}/preferences`)
    await isLoaded
    // As on an iPhone.
    await page.evaluate(() => addEventListener('contextmenu', (event) => event.stopImmediatePropagation(), true))
    await page.getByRole('button', { name: 'Navigation' }).tap()
    const { x, y, width, height } = (await channels(page).getByRole('link', { name: 'bowsprit' }).boundingBox())!
    const finger = await fingerOn(page)
    const menu = page.getByRole('menu', { name: 'Actions for bowsprit' })
    await finger('touchStart', { x: x + width / 2, y: y + height / 2 })
    await menu.waitFor()
    await finger('touchEnd')
    await untilDrawn(page)
    expect(await menu.isVisible()).toBe(true)
    expect(await page.getByRole('heading', { level: 1, name: 'bowsprit' }).count()).toBe(0)
    await menu.getByRole('menuitem', { name: 'Mute' }).tap()
    await menu.waitFor({ state: 'detached' })
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

  test('nothing is behind the camera, the round corners and the bar for gestures of a phone', async () => {
    const fay = await Person.signIn(site.baseUrl, 'fay@example.com')
    const channel = await fay.creates({ name: 'edges' })
    for (let n = 1; n <= 24; n++) await fay.creates({ name: `edge-${n}` })
    const page = await signIn('fay', `/c/${channel.id}`, phone)
    const devtools = await page.context().newCDPSession(page)
    const controls = page.locator('.top-bar, .main').locator('button, input, textarea').filter({ visible: true })
    const distances = () =>
      controls.evaluateAll((all) => {
        const boxes = all.map((each) => each.getBoundingClientRect())
        return {
          top: Math.min(...boxes.map(({ top }) => top)),
          left: Math.min(...boxes.map(({ left }) => left)),
          right: innerWidth - Math.max(...boxes.map(({ right }) => right)),
          bottom: innerHeight - Math.max(...boxes.map(({ bottom }) => bottom)),
        }
      })
    const keeps = async (insets: { top: number; left: number; right: number; bottom: number }) => {
      await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets })
      for (const side of ['top', 'left', 'right', 'bottom'] as const) {
        await expect.poll(async () => (await distances())[side], { message: side }).toBeGreaterThanOrEqual(insets[side])
      }
    }
    await composer(page, 'edges').waitFor()
    await keeps({ top: 40, left: 0, right: 0, bottom: 34 })
    await page.getByRole('button', { name: 'Navigation' }).tap()
    const sidebar = page.locator('.sidebar')
    await sidebar.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    const last = sidebar.getByRole('link').or(sidebar.getByRole('heading')).last()
    expect(await endOf(last)).toBeLessThanOrEqual(phone.viewport.height - 34)
    await page.goBack()
    await page.setViewportSize({ width: phone.viewport.height, height: phone.viewport.width })
    await keeps({ top: 0, left: 47, right: 47, bottom: 21 })
    expect((await sidebar.getByRole('link').first().boundingBox())!.x).toBeGreaterThanOrEqual(47)
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

  test('the name of a file is whole on a phone, where no tooltip shows it', async () => {
    const ned = await Person.signIn(site.baseUrl, 'ned@example.com')
    const channel = await ned.creates({ name: 'reports' })
    const attachments = [await ned.uploads(`${'annual-report-'.repeat(6)}final.txt`, 'figures')]
    await ned.sends(channel, { content: 'this year', attachments })
    const page = await signIn('ned', `/c/${channel.id}`, { ...phone, viewport: { width: 360, height: 640 } })
    const name = article(page, 'this year').getByRole('link', { name: 'final.txt' }).locator('.name')
    await name.waitFor()
    const hidden = await name.evaluate((node) => [
      node.scrollWidth - node.clientWidth,
      node.scrollHeight - node.clientHeight,
    ])
    expect(hidden).toEqual([0, 0])
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

  test('the bar of the phone has the colour of the chosen theme', async () => {
    const page = await signIn('admin', '/preferences', { ...phone, colorScheme: 'light' })
    const colours = () =>
      page
        .locator('meta[name="theme-color"]')
        .evaluateAll((all) =>
          (all as HTMLMetaElement[]).filter(({ media }) => matchMedia(media).matches).map(({ content }) => content),
        )
    const light = await colours()
    expect(light.length).toBe(1)
    await page.getByLabel('Theme').selectOption('Dark')
    await expect.poll(colours).not.toEqual(light)
    expect((await colours()).length).toBe(1)
    await page.getByLabel('Theme').selectOption('System')
    await expect.poll(colours).toEqual(light)
  })
}
