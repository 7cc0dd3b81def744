import type { Locator } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'
import { act, article, composer, createChannel, hasFocus, isAccessible, openChannel, say } from './visitors.ts'

/** What people do with a message that they read: its menu, reactions, images, code, and very long texts. */
describeSite('messages in the web client', {}, (site) => {
  const { signIn } = site

  test('Edit and Delete are in the menu of a message, where nobody clicks them by mistake', async () => {
    const lars = await signIn('lars')
    await createChannel(lars, 'capstan')
    const [, id] = /\/c\/([^/]+)/.exec(lars.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    await say(lars, 'capstan', 'heave')
    await eve.says('ho', { id: id! })
    const menuOf = async (text: string) => {
      const message = article(lars, text)
      await message.hover()
      await message.getByRole('button', { name: 'More actions' }).click()
      await lars.getByRole('menu').waitFor()
      const items = await lars.getByRole('menuitem').allTextContents()
      await isAccessible(lars)
      const open = await message.getByRole('button', { name: /^(React|Reply in thread|Quote|Edit|Delete)$/ }).count()
      await lars.keyboard.press('Escape')
      return { items, open }
    }
    const items = ['Copy text', 'Copy link', 'Save message', 'Pin']
    expect(await menuOf('heave')).toEqual({ items: ['Edit', ...items, 'Delete'], open: 3 })
    expect(await menuOf('ho')).toEqual({ items: ['Mark as unread', ...items], open: 3 })
  })

  test('a person with a keyboard gets the focus on "Undo", which stays while it has the focus or the pointer, but not for ever', async () => {
    const zita = await signIn('zita', '/', { withoutWorker: true })
    await createChannel(zita, 'fender')
    for (const text of ['all lines off', 'fenders in']) await say(zita, 'fender', text)
    const message = article(zita, 'all lines off')
    await message.getByRole('link').waitFor({ state: 'attached' })
    await zita.clock.install()
    const undo = zita.getByRole('button', { name: 'Undo' })
    const confirm = zita.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' })
    const isFocused = (locator: Locator) =>
      expect.poll(() => locator.evaluate((element) => element === document.activeElement)).toBe(true)
    const deleteByKey = async () => {
      await message.focus()
      await message.getByRole('button', { name: 'More actions' }).press('Enter')
      await zita.getByRole('menuitem', { name: 'Delete' }).press('Enter')
      await confirm.press('Enter')
      await message.waitFor({ state: 'detached' })
    }
    await deleteByKey()
    await isFocused(undo)
    await zita.clock.runFor(6_000)
    await undo.press('Enter')
    await message.waitFor()
    await isFocused(article(zita, 'fenders in'))

    await act(zita, 'all lines off', 'Delete')
    await confirm.click()
    await undo.hover()
    await zita.clock.runFor(6_000)
    await undo.click()
    await message.waitFor()

    const deleted = () => zita.waitForResponse((response) => response.request().method() === 'DELETE')
    await deleteByKey()
    await isFocused(undo)
    const [first] = await Promise.all([deleted(), undo.press('Escape')])
    expect(first.ok()).toBe(true)
    await isFocused(article(zita, 'fenders in'))
    await say(zita, 'fender', 'all lines off')
    await message.getByRole('link').waitFor({ state: 'attached' })
    await deleteByKey()
    await isFocused(undo)
    await zita.mouse.move(0, 0)
    const [second] = await Promise.all([deleted(), zita.clock.runFor(60_000)])
    expect(second.ok()).toBe(true)
    await isFocused(article(zita, 'fenders in'))
  })

  test('a deletion is sent when the page is hidden, because a phone may end a hidden page without an event', async () => {
    const yves = await signIn('yves', '/', { withoutWorker: true })
    await createChannel(yves, 'painter')
    await say(yves, 'painter', 'cast off')
    await act(yves, 'cast off', 'Delete')
    await yves.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' }).click()
    // While the pointer is there, the deletion waits.
    await yves.getByRole('button', { name: 'Undo' }).hover()
    const deleted = yves.waitForResponse((response) => response.request().method() === 'DELETE')
    await yves.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    expect((await deleted).ok()).toBe(true)
  })

  test('a button after the reactions of a message adds another one, by keyboard and in search results', async () => {
    const mona = await signIn('mona')
    await createChannel(mona, 'windlass')
    const [, id] = /\/c\/([^/]+)/.exec(mona.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const { id: messageId } = await eve.says('anchor aweigh', { id: id! })
    const message = article(mona, 'anchor aweigh')
    await message.waitFor()
    const another = { name: 'Respond with another emoji' }
    expect(await message.getByRole('button', another).count()).toBe(0)
    await eve.post(`/messages/${messageId}/reactions`, { reaction: '⚓' })
    await message.getByRole('button', { name: '⚓ 1' }).focus()
    await mona.keyboard.press('Tab')
    await mona.keyboard.press('Enter')
    await mona.getByRole('searchbox', { name: 'Search emoji' }).fill('tada')
    await mona.keyboard.press('Enter')
    await message.getByRole('button', { name: '🎉 1', pressed: true }).waitFor()
    const hasFocus = (button: Element) => button === document.activeElement
    await expect.poll(() => message.getByRole('button', another).evaluate(hasFocus)).toBe(true)

    await mona.getByRole('searchbox', { name: 'Search', exact: true }).fill('anchor aweigh')
    await mona.keyboard.press('Enter')
    const found = mona.getByRole('region', { name: 'Search results' }).getByRole('article')
    await found.getByRole('button', another).click()
    await mona.getByRole('searchbox', { name: 'Search emoji' }).fill('sailboat')
    await mona.keyboard.press('Enter')
    await found.getByRole('button', { name: /^⛵.* 1$/, pressed: true }).waitFor()
  })

  test.each([
    { language: 'en', keys: ['ArrowRight', 'ArrowLeft'], names: ['Next image', 'Previous image'] },
    { language: 'ar', keys: ['ArrowLeft', 'ArrowRight'], names: ['الصورة التالية', 'الصورة السابقة'] },
  ])('the viewer shows the images of a message one after the other: $language', async ({ language, keys, names }) => {
    const [forwards, backwards] = keys as [string, string]
    const [next, previous] = names as [string, string]
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `gallery ${language}` })
    const place = `/channels/${channel.id}/messages`
    const images: string[] = []
    for (const name of ['bow.png', 'mast.png', 'stern.png'])
      images.push(await eve.uploadsImage(place, name, png(60, 40, [54, 81, 201])))
    await eve.sends(channel, { content: 'the new ship', images })
    const page = await signIn('nico', `/c/${channel.id}`)
    await page.evaluate((chosen) => localStorage.setItem('parley.preferences', `{"language":"${chosen}"}`), language)
    await page.reload()
    const button = (name: string) => article(page, 'the new ship').getByRole('button', { name })
    await button('mast.png').click()
    const viewer = (name: string) => page.getByRole('dialog', { name })
    const count = (number: number) => page.getByRole('dialog').getByText(new RegExp(`${number}\\D+3$`))
    await viewer('mast.png').getByRole('img', { name: 'mast.png' }).waitFor()
    await count(2).waitFor()
    await isAccessible(page)
    await page.keyboard.press(forwards)
    await viewer('stern.png').getByRole('img', { name: 'stern.png' }).waitFor()
    await count(3).waitFor()
    await page.keyboard.press(backwards)
    await count(2).waitFor()
    const press = (name: string) => page.getByRole('button', { name }).click()
    await press(previous)
    await viewer('bow.png').waitFor()
    // Before the first one is the last one.
    await press(previous)
    await viewer('stern.png').waitFor()
    await press(next)
    await viewer('bow.png').waitFor()
    await page.keyboard.press('Escape')
    await hasFocus(button('mast.png'))
  })

  test.each([
    { language: 'en', forwards: -1 },
    { language: 'ar', forwards: 1 },
  ])('a swipe goes to the next or the previous image: $language', async ({ language, forwards }) => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `swipes ${language}` })
    const images: string[] = []
    for (const name of ['bow.png', 'mast.png', 'stern.png'])
      images.push(await eve.uploadsImage(`/channels/${channel.id}/messages`, name, png(60, 40, [54, 81, 201])))
    await eve.sends(channel, { content: 'the old ship', images })
    const page = await signIn('nico', `/c/${channel.id}`, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    })
    await page.evaluate((chosen) => localStorage.setItem('parley.preferences', `{"language":"${chosen}"}`), language)
    await page.reload()
    await article(page, 'the old ship').getByRole('button', { name: 'mast.png' }).tap()
    const shown = (name: string) => page.getByRole('dialog', { name }).getByRole('img', { name }).waitFor()
    await shown('mast.png')
    const devtools = await page.context().newCDPSession(page)
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
      devtools.send('Input.dispatchTouchEvent', { type, touchPoints })
    const swipe = async (x: number, y: number) => {
      await touch('touchStart', { x: 195, y: 400 })
      for (const part of [0.25, 0.5, 0.75, 1]) await touch('touchMove', { x: 195 + part * x, y: 400 + part * y })
      await touch('touchEnd')
    }
    await swipe(forwards * 120, 20)
    await shown('stern.png')
    // A vertical one and a short one go nowhere.
    await swipe(60, 200)
    await swipe(20, 0)
    await swipe(forwards * -120, 20)
    await shown('mast.png')
  })

  test('a selection of several messages has the visible times, and no others', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'minutes' })
    for (const text of ['first point', 'second point', 'third point']) await eve.says(text, channel)
    const page = await signIn('eve', `/c/${channel.id}`)
    const [first, last] = [article(page, 'first point').locator('.text'), article(page, 'third point').locator('.text')]
    await first.hover()
    await article(page, 'first point').getByRole('button', { name: 'More actions' }).waitFor()
    const [from, to] = [(await first.boundingBox())!, (await last.boundingBox())!]
    await page.mouse.move(from.x - 2, from.y - 12)
    await page.mouse.down()
    await page.mouse.move(to.x + 200, to.y + to.height / 2, { steps: 5 })
    await page.mouse.up()
    const selected = (await page.evaluate(() => `${getSelection()}`)).split(/\n+/)
    expect(selected.slice(-3)).toEqual(['first point', 'second point', 'third point'])
  })

  test('the code of a message is copied with one button', async () => {
    const olga = await signIn('olga', '/', { permissions: ['clipboard-read', 'clipboard-write'] })
    await createChannel(olga, 'chartwork')
    await say(olga, 'chartwork', 'try this:\n```js\nsteer(90)\n\nsail()\n```\nor that', 'try this:')
    // The stored message replaces the unsent one, and its button. Only a message that the server has is a link.
    await article(olga, 'try this:').getByRole('link').waitFor({ state: 'attached' })
    const copy = article(olga, 'try this:').getByRole('button', { name: 'Copy', exact: true })
    // It says so for a short time only.
    await Promise.all([
      article(olga, 'try this:').getByRole('status').getByText('Copied').waitFor(),
      copy.press('Enter'),
    ])
    expect(await olga.evaluate(() => navigator.clipboard.readText())).toBe('steer(90)\n\nsail()')
    await isAccessible(olga)
    await copy.waitFor()
    await act(olga, 'try this:', 'Copy text')
    await olga.getByText('Text copied').waitFor()
    expect(await olga.evaluate(() => navigator.clipboard.readText())).toMatch(/^try this:\n```js\n.*or that$/s)
  })

  test('only the beginning of a very long message is rendered until it is expanded', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'long log' })
    const lines = Array.from({ length: 2_000 }, (_, n) => `l${n + 1}`)
    const code = lines.join('\n')
    for (let n = 1; n <= 20; n++) await eve.says(`entry ${n}.`, channel)
    const end = `${'and so on\n'.repeat(80)}the last line`
    const long = await eve.says(`the long one\n\`\`\`\n${code}\n\`\`\`\n${end}`, channel)
    const pat = await signIn('pat', `/c/${channel.id}`, { permissions: ['clipboard-read', 'clipboard-write'] })
    const message = article(pat, 'the long one')
    const expand = message.getByRole('button', { name: 'Show more', expanded: false })
    await expand.waitFor()
    const isShown = (text: string) => message.getByText(text).isVisible()
    const shownLines = async () => (await message.locator('pre').textContent())!.split('\n').length
    expect(await isShown('the last line')).toBe(false)
    expect(await shownLines()).toBeLessThan(60)
    const copy = message.getByRole('button', { name: 'Copy', exact: true })
    await Promise.all([message.getByRole('button', { name: 'Copied' }).waitFor(), copy.click()])
    expect(await pat.evaluate(() => navigator.clipboard.readText())).toBe(code)

    // The reader stays at the beginning of the message, although the list was at its end.
    const top = async () => (await message.boundingBox())!.y
    const before = await top()
    await expand.press('Enter')
    await message.getByRole('button', { name: 'Show less', expanded: true }).waitFor()
    expect(await isShown('the last line')).toBe(true)
    expect(await shownLines()).toBe(2_000)
    await expect.poll(async () => Math.abs((await top()) - before)).toBeLessThanOrEqual(1)
    await isAccessible(pat)
    await eve.says('short again', channel)
    // The message itself is out of sight, so it is not rendered. It is announced.
    await pat.getByText('eve: short again').waitFor({ state: 'attached' })
    expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1)

    await openChannel(pat, 'General')
    await pat.goto(`${site.baseUrl}/c/${channel.id}/m/${long.id}`)
    await hasFocus(message)
    await expand.click()
    await message.getByRole('button', { name: 'Show less' }).click()
    await expand.waitFor()
    // The search of the browser expands it.
    await message.locator('[hidden]').dispatchEvent('beforematch', { bubbles: true })
    await message.getByRole('button', { name: 'Show less' }).waitFor()

    await act(pat, 'the long one', 'Quote')
    await composer(pat, 'long log').fill('what is this?')
    await composer(pat, 'long log').press('Enter')
    await article(pat, 'what is this?').getByRole('blockquote').getByText('the long one').waitFor()
    expect((await article(pat, 'what is this?').getByRole('blockquote').textContent())!.length).toBeLessThan(3_000)

    const field = pat.getByRole('searchbox', { name: 'Search', exact: true })
    await field.fill('the last line')
    await field.press('Enter')
    const results = pat.getByRole('region', { name: 'Search results' })
    await results.getByText('the last line').waitFor()
  })

  test('a long message is edited as a whole, and its sent and unsent versions have the same height', async () => {
    const rita = await signIn('rita')
    await createChannel(rita, 'manifest')
    const text = `cargo list\n${Array.from({ length: 150 }, (_, n) => `crate ${n + 1}`).join('\n')}`
    await say(rita, 'manifest', text, 'cargo list')
    await article(rita, 'cargo list').getByRole('link').waitFor({ state: 'attached' })
    await article(rita, 'cargo list').getByRole('button', { name: 'Show more' }).waitFor()
    await composer(rita, 'manifest').press('ArrowUp')
    const edited = rita.getByRole('textbox', { name: 'Edit message' })
    expect(await edited.inputValue()).toBe(text)
    await edited.fill('cargo list, shorter')
    await edited.press('Enter')
    await article(rita, 'cargo list, shorter').waitFor()
    expect(await article(rita, 'cargo list').getByRole('button', { name: 'Show more' }).count()).toBe(0)
  })

  describe('the mark of an edited message', () => {
    const arabic = 'مرحبا بالعالم'
    const afterTheText = [
      'one line',
      'first line\nlast line',
      'one\n\ntwo',
      '- item\n\nwords',
      '> quote\n\nwords',
      '🎉',
    ]
    const belowTheText = ['words\n- item', '```\ncode\n```', 'words\n> quote', 'words '.repeat(900).trim()]
    test.each([
      { language: 'en', after: afterTheText, below: [...belowTheText, arabic] },
      { language: 'ar', after: [arabic], below: ['one line'] },
    ])('is after the last word if that is in a paragraph: $language', async ({ language, after, below }) => {
      const ida = await Person.signIn(site.baseUrl, 'ida@example.com')
      const channel = await ida.creates({ name: `ledger ${language}` })
      const edited = async (content: string) => {
        const { id } = await ida.says('draft', channel)
        await ida.put(`/messages/${id}`, { content })
        return id
      }
      const page = await signIn('rosa', `/c/${channel.id}`, { viewport: { width: 1280, height: 2_000 } })
      await page.evaluate((chosen) => localStorage.setItem('parley.preferences', `{"language":"${chosen}"}`), language)
      await page.reload()
      const places: unknown[] = []
      for (const content of [...after, ...below]) {
        const message = page.locator(`[data-message="${await edited(content)}"]`)
        await message.locator('.edited-mark').waitFor()
        places.push([content, await message.evaluate(placeOfMark)])
      }
      expect(places).toEqual([
        ...after.map((content) => [content, 'after the last word']),
        ...below.map((content) => [content, 'below']),
      ])
    })

    test('is in the line that is there already, so the list does not move', async () => {
      const ida = await Person.signIn(site.baseUrl, 'ida@example.com')
      const channel = await ida.creates({ name: 'fair copy' })
      for (let n = 1; n <= 40; n++) await ida.says(`entry ${n}.`, channel)
      const { id } = await ida.says('forty crates', channel)
      await ida.says('and that is all', channel)
      const rosa = await signIn('rosa', `/c/${channel.id}`)
      const boxes = async () => [
        await article(rosa, 'entry 40.').boundingBox(),
        await article(rosa, 'crates').boundingBox(),
        await article(rosa, 'and that is all').boundingBox(),
      ]
      await article(rosa, 'and that is all').waitFor()
      const before = await boxes()
      await ida.put(`/messages/${id}`, { content: 'fifty crates' })
      await article(rosa, 'fifty crates').getByText('(edited)').waitFor()
      expect(await boxes()).toEqual(before)
    })
  })

  test('emoji that the browser cannot draw are not offered', async () => {
    const sven = await signIn('sven', '/', { withoutWorker: true })
    await sven.addInitScript(() => {
      const { fillText } = CanvasRenderingContext2D.prototype
      // The font of this browser draws a grey box for one of the two, and a picture for the other.
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most) {
        const colour = { '\u{1fac6}': '#888', '\u{1fabe}': '#8a4' }[text]
        if (colour === undefined) return fillText.call(this, text, x, y, most)
        this.fillStyle = colour
        this.fillRect(0, 0, 8, 8)
      }
    })
    await sven.reload()
    await createChannel(sven, 'figurehead')
    // The fonts of the page are added after the first view. This machine may have no other emoji.
    const hasFonts = () =>
      sven.evaluate(() => [...document.fonts].some(({ family }) => family.includes('Parley Emoji')))
    await expect.poll(hasFonts).toBe(true)
    await sven.getByRole('button', { name: 'Emoji', exact: true }).click()
    const picker = sven.getByRole('dialog', { name: 'Emoji' })
    const search = picker.getByRole('searchbox', { name: 'Search emoji' })
    await search.fill('leafless')
    await picker.getByRole('button', { name: /leafless/ }).waitFor()
    await search.fill('fingerprint')
    await picker.getByText('Nothing was found').waitFor()
  })

  test('"Create channel" says what a private channel is, and the filters of a search show what to type', async () => {
    const tilda = await signIn('tilda')
    await tilda.getByRole('button', { name: 'Create channel' }).click()
    const dialog = tilda.getByRole('dialog', { name: 'Create channel' })
    const described = await dialog.getByRole('checkbox', { name: 'Private', exact: true }).evaluate((box) => {
      const id = box.getAttribute('aria-describedby')
      return id && document.getElementById(id)?.textContent
    })
    expect(described).toMatch(/^Only members/)
    await isAccessible(tilda)
    await tilda.keyboard.press('Escape')
    await tilda.getByRole('searchbox', { name: 'Search', exact: true }).fill('tides')
    await tilda.keyboard.press('Enter')
    const filters = tilda.getByRole('form', { name: 'Filters' })
    await filters.getByPlaceholder('Name, or me').waitFor()
    await filters.getByPlaceholder('Channel or person').waitFor()
    await isAccessible(tilda)
  })

  test('the time of a message has the form of the locale, as the times of tables have', async () => {
    // In the morning, where the forms differ.
    const later = 3 - new Date().getUTCHours()
    const hours = later < -11 ? later + 24 : later
    const timezoneId = `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
    const vera = await signIn('vera', '/', { timezoneId })
    await createChannel(vera, 'halyard')
    await say(vera, 'halyard', 'hoist')
    const time = article(vera, 'hoist').locator('time')
    await time.waitFor()
    expect(await time.textContent()).toMatch(/^0[34]:\d\d$/)
  })

  test('times and days follow the time zone of the machine, which may change on a journey', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'date line' })
    const { createdAt } = await eve.says('westward', channel)
    const page = await signIn('eve', `/c/${channel.id}`)
    const time = article(page, 'westward').getByRole('link').first()
    const timeIn = (timeZone: string) =>
      new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' }).format(createdAt)
    const devtools = await page.context().newCDPSession(page)
    for (const timezoneId of ['Pacific/Honolulu', 'Asia/Kolkata']) {
      await devtools.send('Emulation.setTimezoneOverride', { timezoneId })
      // As when the person comes back to the page.
      await page.evaluate(() => dispatchEvent(new Event('focus')))
      await expect.poll(() => time.textContent()).toBe(timeIn(timezoneId))
    }
  })

  test('a message of nothing but emoji is larger than text', async () => {
    const wim = await signIn('wim')
    await createChannel(wim, 'pennant')
    const sizeOf = async (text: string, visible = text) => {
      await say(wim, 'pennant', text, visible)
      const message = article(wim, visible)
      await message.getByRole('link').waitFor({ state: 'attached' })
      const shown = message.locator('.text')
      return Number.parseFloat(await shown.evaluate((element) => getComputedStyle(element).fontSize))
    }
    const usual = await sizeOf('a fair wind ⛵')
    const isLarge = expect.toSatisfy((size: number) => size > 1.5 * usual)
    for (const emoji of ['🎉', '👩‍👩‍👧 👍🏽 ❤️', '🇳🇴', '®️', '4️⃣', '⛹🏽‍♂️ 👁️‍🗨️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿'])
      expect([emoji, await sizeOf(emoji)]).toEqual([emoji, isLarge])
    expect(await sizeOf(':confetti_ball: :rowboat::skin-tone-4:', '🎊 🚣🏽')).toEqual(isLarge)
    // Characters that are text unless the writer asks for a picture.
    const texts = ['4711', '☕ at four', '©', '™', ':no_such_emoji:', '```🧨```', '*🪁*']
    for (const text of texts) expect([text, await sizeOf(text, text.replaceAll(/[`*]/g, ''))]).toEqual([text, usual])
  })

  test('the number of members opens the settings of the channel, which list them', async () => {
    const xaver = await signIn('xaver')
    await createChannel(xaver, 'gunwale')
    await xaver.getByRole('button', { name: '1 member', exact: true }).click()
    const settings = xaver.getByRole('dialog', { name: 'Channel settings' })
    await settings.getByText('xaver').waitFor()
    await isAccessible(xaver)
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
})

/** Where the mark of an edited message is. The text describes the message to screen readers, so the mark is not a part of it. */
function placeOfMark(message: Element) {
  const text = document.getElementById(message.getAttribute('aria-describedby')!)!
  const element = message.querySelector('.edited-mark')!
  if (text.contains(element)) return 'in the text'
  const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
  const last = document.createRange()
  while (nodes.nextNode()) {
    if (!nodes.currentNode.parentElement!.closest('[hidden]')) last.selectNode(nodes.currentNode)
  }
  const [word, mark] = [[...last.getClientRects()].at(-1)!, element.getBoundingClientRect()]
  const gap = document.dir === 'rtl' ? word.left - mark.right : mark.left - word.right
  if (mark.top >= word.bottom - 2) return 'below'
  return gap > 0 && gap < 10 ? 'after the last word' : 'elsewhere'
}
