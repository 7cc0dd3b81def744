import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import {
  act,
  article,
  channels,
  createChannel,
  hasFocus,
  refuseMessages,
  removeStores,
  say,
  untilDrawn,
} from './visitors.ts'

const messages = 120
/** The message that the person reads. */
const read = 'message 76.'

/** Simulates Safari, which has no scroll anchoring. */
const likeSafari = `
  const { supports } = CSS
  CSS.supports = (...asked) => !asked.join().includes('overflow-anchor') && supports.call(CSS, ...asked)
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('.feed-scroller { overflow-anchor: none !important }')
  document.adoptedStyleSheets = [sheet]
`

/** Tests that visible messages keep their position while other messages change. */
describeSite('the list of messages', {}, (site) => {
  for (const [browser, script] of [
    ['a browser that anchors', undefined],
    ['a browser that does not', likeSafari],
  ] as const) {
    test(`${browser}: visible messages keep their position when older messages, edits and new messages come`, async () => {
      const { page, writer, channel, said, letOlderCome } = await readInTheMiddle(site, script)
      const place = await topOf(page, read)
      const isStill = async () => expect(Math.abs((await topOf(page, read)) - place)).toBeLessThanOrEqual(1)

      // Just above the viewport, so it is rendered.
      await writer.put(`/messages/${said[73]!.id}`, { content: 'message 74. '.repeat(200) })
      await article(page, 'message 74. message 74.').first().waitFor({ state: 'attached' })
      await isStill()

      const shorter = await scrollHeight(page)
      for (let n = 0; n < 5; n++) await writer.says(`below ${n}. ${'and on '.repeat(40)}`, channel)
      await expect.poll(() => scrollHeight(page)).toBeGreaterThan(shorter + 200)
      await isStill()

      const before = await scrollHeight(page)
      letOlderCome()
      await expect.poll(() => scrollHeight(page)).toBeGreaterThan(before + 500)
      await isStill()
    })

    test(`${browser}: a scroll of a script stays, also when a message grows in the same frame`, async () => {
      const { page } = await readInTheMiddle(site, script)
      const place = await topOf(page, read)
      await page.evaluate(`new Promise((grown) => requestAnimationFrame(() => {
        document.querySelector('.feed-scroller').scrollTop -= 120
        grow()
        grown()
      }))
      function grow() {
        const last = [...document.querySelectorAll('.feed-rows article')].at(-1)
        last.style.paddingBlockEnd = parseFloat(last.style.paddingBlockEnd || 0) + 50 + 'px'
      }`)
      expect(Math.abs((await topOf(page, read)) - place - 120)).toBeLessThanOrEqual(1)
      // Until now, a browser that anchors has kept the position itself.
      await page.evaluate('grow()')
      expect(Math.abs((await topOf(page, read)) - place - 120)).toBeLessThanOrEqual(1)
    })

    test(`${browser}: another density, a thread beside it and a time out of sight move nothing that is read`, async () => {
      const { page, writer, channel, said } = await readInTheMiddle(site, script)
      const place = await topOf(page, read)
      const isStill = async () => expect(Math.abs((await topOf(page, read)) - place)).toBeLessThanOrEqual(1)

      await page.evaluate(`document.documentElement.dataset.density = 'compact'`)
      await isStill()

      await page.evaluate(`{
        history.pushState(null, '', '/c/${channel.id}/t/${said[100]!.id}')
        dispatchEvent(new PopStateEvent('popstate'))
      }`)
      await page.getByRole('complementary', { name: 'Thread' }).waitFor()
      await isStill()

      await page.evaluate(`document.getElementById('app').style.display = 'none'`)
      await writer.says('said meanwhile', channel)
      await writer.put(`/messages/${said[73]!.id}`, { content: 'message 74. '.repeat(200) })
      await page.getByText('message 74. message 74.').first().waitFor({ state: 'attached' })
      await page.evaluate(`document.getElementById('app').style.display = ''`)
      await isStill()
    })

    test(`${browser}: after the deletion of what was read its neighbours keep their place, and the end is followed`, async () => {
      const { page, writer, said } = await readInTheMiddle(site, script)
      for (const index of [75, 74, 73]) {
        await writer.delete(`/messages/${said[index]!.id}`)
        await article(page, `message ${index + 1}.`).waitFor({ state: 'detached' })
      }
      const place = await topOf(page, 'message 77.')
      await writer.put(`/messages/${said[72]!.id}`, { content: 'message 73. '.repeat(200) })
      await article(page, 'message 73. message 73.').first().waitFor({ state: 'attached' })
      expect(Math.abs((await topOf(page, 'message 77.')) - place)).toBeLessThanOrEqual(1)

      await page.mouse.wheel(0, 100_000)
      await article(page, `message ${messages}.`).waitFor()
      await expect.poll(() => belowWindow(page)).toBeLessThan(1)
      await writer.put(`/messages/${said.at(-1)!.id}`, { content: 'it grows. '.repeat(200) })
      await article(page, 'it grows.').waitFor()
      await expect.poll(() => belowWindow(page)).toBeLessThan(1)
    })
  }

  test('Home moves the focus to the first message, which stays visible when older messages come', async () => {
    const { page, letOlderCome } = await readInTheMiddle(site, undefined)
    await article(page, read).focus()
    await page.keyboard.press('Home')
    const focused = () => page.evaluate(`document.activeElement.querySelector('.text')?.textContent ?? ''`)
    await expect.poll(focused).not.toContain(read)
    const first = (await focused()) as string
    const before = await scrollHeight(page)
    letOlderCome()
    await expect.poll(() => scrollHeight(page)).toBeGreaterThan(before + 500)
    expect(await topOf(page, first)).toBeCloseTo(0)
  })

  test('the arrow keys move to the beginning of a message that is higher than the viewport', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'essays' })
    for (let n = 1; n < 30; n++) await writer.says(`line ${n}.`, channel)
    await writer.says(`the essay.${'\nand on and on'.repeat(90)}`, channel)
    const page = await site.signIn('reader', `/c/${channel.id}`)
    await article(page, 'the essay.').focus()
    const focused = () => page.evaluate(`document.activeElement.querySelector('.text')?.textContent ?? ''`)
    await page.keyboard.press('ArrowUp')
    await expect.poll(focused).toContain('line 29.')
    await page.keyboard.press('ArrowDown')
    await expect.poll(focused).toContain('the essay.')
    expect(await topOf(page, 'the essay.')).toBeCloseTo(0)
  })

  test('the arrow keys move from message to message also from a link in a message, to which Shift+Tab leads', async () => {
    const page = await site.signIn('tabitha')
    await createChannel(page, 'backstay')
    for (const text of ['port side', 'starboard side']) await say(page, 'backstay', text)
    await article(page, 'starboard side').getByRole('link').waitFor({ state: 'attached' })
    const box = page.getByRole('textbox', { name: 'Message backstay' })
    await box.press('Shift+Tab')
    expect(await page.evaluate('document.activeElement.localName')).toBe('a')
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('article')
    expect(await page.evaluate('document.activeElement.textContent')).toContain('port side')
  })

  test('a message that replaces its unsent one keeps its position, the pointer and the focus', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'slow post' })
    const page = await site.signIn('reader', `/c/${channel.id}`, { withoutWorker: true })
    const held: Route[] = []
    await page.route('**/channels/*/messages', (route) =>
      route.request().method() === 'POST' ? void held.push(route) : route.continue(),
    )
    const letGo = async (text: string) => {
      await article(page, text).getByText('Sending…').waitFor()
      const top = await topOf(page, text)
      await expect.poll(() => held.length).toBe(1)
      await held.pop()!.continue()
      await article(page, text).getByText('Sending…').waitFor({ state: 'detached' })
      expect(await topOf(page, text)).toBeCloseTo(top)
    }
    // As at a first visit, in the first moment of which the own name is not known.
    const address = page.url()
    await removeStores(page)
    const known = Promise.withResolvers<void>()
    await page.route('**/auth/me', (route) => known.promise.then(() => route.continue()))
    await page.goto(address)
    await say(page, 'slow post', 'without a name')
    expect(await article(page, 'without a name').locator('.author').textContent()).toBe('')
    await letGo('without a name')
    known.resolve()

    await say(page, 'slow post', 'under the pointer')
    const pointed = article(page, 'under the pointer')
    await pointed.hover()
    await letGo('under the pointer')
    await pointed.getByRole('button', { name: 'More actions' }).waitFor()

    await say(page, 'slow post', 'under the fingers')
    const focused = article(page, 'under the fingers')
    await focused.focus()
    await letGo('under the fingers')
    await hasFocus(focused)
  })

  test('the focus stays in the list when its message is deleted, and after a jump', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'errata' })
    const said: { id: string }[] = []
    for (let n = 1; n <= 60; n++) said.push(await writer.says(`line ${n}. ${'words '.repeat(40)}`, channel))
    const page = await site.signIn('reader', `/c/${channel.id}`)
    const focused = () => page.evaluate(`document.activeElement.querySelector('.text')?.textContent ?? ''`)
    await article(page, 'line 59.').focus()
    await writer.delete(`/messages/${said[58]!.id}`)
    await expect.poll(focused).toContain('line 60.')
    await writer.delete(`/messages/${said[59]!.id}`)
    await expect.poll(focused).toContain('line 58.')

    await page.keyboard.press('Home')
    await page.getByRole('button', { name: 'Jump to newest' }).press('Enter')
    await expect.poll(focused).toContain('line 58.')
  })

  test('the focus goes to the next message when a button or the editor of a message had it, and the message is deleted', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'galley-proofs' })
    const said: { id: string }[] = []
    for (const text of ['proof one', 'proof two', 'proof three']) said.push(await writer.says(text, channel))
    const page = await site.signIn('writer', `/c/${channel.id}`)
    await article(page, 'proof two').focus()
    await article(page, 'proof two').getByRole('button', { name: 'More actions' }).focus()
    await writer.delete(`/messages/${said[1]!.id}`)
    await hasFocus(article(page, 'proof three'))
    await page.getByRole('textbox', { name: 'Message galley-proofs' }).press('ArrowUp')
    await hasFocus(page.getByRole('textbox', { name: 'Edit message' }))
    await writer.delete(`/messages/${said[2]!.id}`)
    await hasFocus(article(page, 'proof one'))

    await page.goto(`${site.baseUrl}/c/${channel.id}/t/${said[0]!.id}`)
    const thread = page.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('article').focus()
    await thread.getByRole('button', { name: 'More actions' }).focus()
    await writer.delete(`/messages/${said[0]!.id}`)
    await hasFocus(thread.getByText('This message is not available'))
  })

  test('the focus goes to the text box when the only message of a channel or thread is deleted', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'blank-page' })
    const page = await site.signIn('writer', `/c/${channel.id}`)
    const box = (name: string) => page.getByRole('textbox', { name })

    const edited = await writer.says('an edited line', channel)
    await article(page, 'an edited line').waitFor()
    await page.keyboard.press('ArrowUp')
    await hasFocus(box('Edit message'))
    await writer.delete(`/messages/${edited.id}`)
    await hasFocus(box('Message blank-page'))

    const chosen = await writer.says('a line with a menu', channel)
    await article(page, 'a line with a menu').focus()
    await article(page, 'a line with a menu').getByRole('button', { name: 'More actions' }).press('Enter')
    await page.getByRole('menuitem').first().waitFor()
    await writer.delete(`/messages/${chosen.id}`)
    await hasFocus(box('Message blank-page'))

    const parent = await writer.says('a line with a thread', channel)
    const { body } = await writer.post(`/messages/${parent.id}/thread`, { content: 'a reply' })
    await page.goto(`${site.baseUrl}/c/${channel.id}/t/${parent.id}`)
    const reply = page
      .getByRole('complementary', { name: 'Thread' })
      .getByRole('article')
      .filter({ hasText: 'a reply' })
    await reply.focus()
    await writer.delete(`/messages/${body.reply.id}`)
    await hasFocus(box('Reply'))
  })

  test('the focus stays in the list when an unsent message is discarded before the other messages are loaded', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'quarantine' })
    await writer.says('welcome on board', channel)
    const page = await site.signIn('reader', '/', { withoutWorker: true })
    const isDiscarded = Promise.withResolvers<void>()
    await page.route('**/channels/*/messages?*', (route) => isDiscarded.promise.then(() => route.continue()))
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    await refuseMessages(page)
    await say(page, 'quarantine', 'may I say this?')
    await article(page, 'may I say this?').getByRole('button', { name: 'Discard' }).press('Enter')
    await article(page, 'may I say this?').waitFor({ state: 'detached' })
    isDiscarded.resolve()
    const first = article(page, 'welcome on board')
    await hasFocus(first)
  })

  test('a jump by keyboard to another part of a channel moves the focus there', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const reader = await Person.signIn(site.baseUrl, 'reader@example.com')
    const channel = await writer.creates({ name: 'long-read' })
    await reader.post(`/channels/${channel.id}/join`)
    const said: { id: string }[] = []
    for (let n = 1; n <= 80; n++) said.push(await writer.says(`line ${n}. ${'words '.repeat(40)}`, channel))
    const page = await site.signIn('reader', `/c/${channel.id}`)
    const focused = () => page.evaluate(`document.activeElement.querySelector('.text')?.textContent ?? ''`)
    const box = page.getByRole('textbox', { name: 'Message long-read' })
    const isBoxFocused = () => box.evaluate((element) => element === document.activeElement)
    // The list may have loaded the newest messages meanwhile. Then the newest one gets the focus.
    const isAtNewest = async () => (await isBoxFocused()) || `${await focused()}`.includes('line 80.')

    await page.getByRole('button', { name: 'Jump to first unread' }).press('Enter')
    await expect.poll(focused).toContain('line 1.')
    await page.getByRole('button', { name: 'Jump to newest' }).press('Enter')
    await expect.poll(isAtNewest).toBe(true)
    expect(await page.getByRole('button', { name: 'Jump to first unread' }).count()).toBe(0)

    await page.goto(`${site.baseUrl}/c/${channel.id}/m/${said[9]!.id}`)
    await expect.poll(focused).toContain('line 10.')
    await page.getByRole('button', { name: 'Jump to newest' }).press('Enter')
    await expect.poll(isAtNewest).toBe(true)
    await article(page, 'line 80.').waitFor()
  })

  test('the button to the newest message is there as soon as it is out of sight, and counts those that come', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'bell' })
    for (let n = 1; n <= 30; n++) await writer.says(`stroke ${n}.`, channel)
    const page = await site.signIn('listener', `/c/${channel.id}`)
    const jump = page.getByRole('button', { name: 'Jump to newest' })
    await article(page, 'stroke 30.').waitFor()
    expect(await jump.count()).toBe(0)
    // Less than the height of the list.
    await page.getByRole('feed').hover()
    await hasFonts(page)
    await page.mouse.wheel(0, -150)
    await jump.waitFor()
    expect(await jump.textContent()).toBe('Jump to newest')
    for (const n of [31, 32]) await writer.says(`stroke ${n}.`, channel)
    await expect.poll(() => jump.textContent()).toBe('Jump to newest2')
    await jump.click()
    await article(page, 'stroke 32.').waitFor()
    await jump.waitFor({ state: 'detached' })
  })

  test('with the colours of the system, the space between messages is no bar', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'signal-flags' })
    await writer.says('blue peter', channel)
    const page = await site.signIn('reader', `/c/${channel.id}`, { forcedColors: 'active' })
    const [border, backdrop] = await article(page, 'blue peter').evaluate((row) => {
      const page = document.createElement('i')
      page.style.color = 'Canvas'
      document.body.append(page)
      return [getComputedStyle(row).borderTopColor, getComputedStyle(page).color]
    })
    expect(border).toBe(backdrop)
  })

  test('with the colours of the system, the number of mentions differs from the number of unread messages', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const reader = await Person.signIn(site.baseUrl, 'reader@example.com')
    const [ours, theirs] = [await writer.creates({ name: 'semaphore' }), await writer.creates({ name: 'heliograph' })]
    for (const { id } of [ours, theirs]) await reader.post(`/channels/${id}/join`)
    await writer.says('@reader look', ours)
    await writer.says('all quiet', theirs)
    const page = await site.signIn('reader', '/', { forcedColors: 'active' })
    const outlineOf = (name: string) =>
      channels(page)
        .getByRole('link', { name: new RegExp(`^${name}`) })
        .locator('.count')
        .evaluate((badge) => getComputedStyle(badge).outlineStyle)
    expect(await outlineOf('semaphore')).toBe('solid')
    expect(await outlineOf('heliograph')).toBe('none')
  })

  test('the unread line stays while the person scrolls, and also a line that they have set', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const reader = await Person.signIn(site.baseUrl, 'reader@example.com')
    const channel = await writer.creates({ name: 'log-book' })
    await reader.post(`/channels/${channel.id}/join`)
    for (let n = 1; n <= 40; n++) await writer.says(`line ${n}. ${'words '.repeat(40)}`, channel)
    const page = await site.signIn('reader', `/c/${channel.id}`)
    const link = channels(page).getByRole('link', { name: /^log-book/ })
    await article(page, 'line 40.').waitFor()
    await expect.poll(() => link.textContent()).not.toContain('unread')
    await page.getByRole('feed').hover()
    await hasFonts(page)
    await page.mouse.wheel(0, -1200)
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor()
    await page.getByRole('button', { name: 'Jump to first unread' }).click()
    await article(page, 'line 1.').waitFor()
    await page.getByRole('button', { name: 'Jump to newest' }).click()
    await article(page, 'line 40.').waitFor()
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('button', { name: 'Jump to first unread' }).count()).toBe(0)
    await page.getByRole('feed').hover()
    await page.mouse.wheel(0, -20_000)
    await article(page, 'line 1.').waitFor()

    await act(page, 'line 2.', 'Mark as unread')
    await page.getByText('New messages', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Jump to newest' }).click()
    const jump = page.getByRole('button', { name: 'Jump to first unread' })
    await jump.waitFor()
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor({ state: 'detached' })
    await page.evaluate(`document.hasFocus = () => false, dispatchEvent(new Event('blur'))`)
    await expect.poll(() => link.textContent()).toContain('39 unread')
    // Without the mark the line would be removed in one of the next frames.
    for (let frame = 0; frame < 10; frame++) {
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestIdleCallback(resolve)))')
    }
    expect(await jump.count()).toBe(1)
  })

  test('a day that begins with the first unread message has one line', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const reader = await Person.signIn(site.baseUrl, 'dayman@example.com')
    const channel = await writer.creates({ name: 'day cabin' })
    await reader.post(`/channels/${channel.id}/join`)
    await writer.says('first watch', channel)
    // Where it is about noon, the day does not change during the test.
    const hours = 12 - new Date().getUTCHours()
    const timezoneId = `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
    const page = await site.signIn('dayman', `/c/${channel.id}`, { timezoneId })
    await article(page, 'first watch').waitFor()
    const lines = page.locator('.main .feed-rows > :is(.day-line, .unread-line)')
    expect(await lines.allTextContents()).toEqual(['Today New messages'])
    const boxes = await Promise.all(
      ['Today', 'New messages'].map((text) => page.getByText(text, { exact: true }).boundingBox()),
    )
    expect(boxes[0]!.y).toBe(boxes[1]!.y)
    // Both are in the line, and a line is between them.
    expect(boxes[0]!.x).toBeGreaterThan(500)
    expect(boxes[1]!.x - boxes[0]!.x).toBeGreaterThan(200)

    // On a phone the name of a day is wrapped only when the line has no space for it.
    await page.setViewportSize({ width: 390, height: 800 })
    const day = page.locator('.unread-line b')
    const { height } = (await day.boundingBox())!
    await day.evaluate((element) => (element.textContent = 'Donnerstag, 26. November 2026'))
    expect((await day.boundingBox())!.height).toBe(height)
  })

  test('the unread line is not above messages that the person has seen, although the server does not know it', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const reader = await Person.signIn(site.baseUrl, 'steerer@example.com')
    const channel = await writer.creates({ name: 'binnacle' })
    await reader.post(`/channels/${channel.id}/join`)
    for (let n = 1; n <= 40; n++) await writer.says(`course ${n}.`, channel)
    await reader.put(`/channels/${channel.id}/read`, { seq: 40 })
    const page = await site.signIn('steerer', `/c/${channel.id}`, { withoutWorker: true })
    await article(page, 'course 40.').waitFor()
    await page.route('**/read', (route) => route.abort())
    await writer.says('course 41.', channel)
    await article(page, 'course 41.').waitFor()
    await page.getByRole('feed').hover()
    await hasFonts(page)
    await page.mouse.wheel(0, -400)
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor()
    const jump = page.getByRole('button', { name: /^Jump to newest.*2$/ })
    await writer.says('course 42.', channel)
    await jump.waitFor()
    await jump.click()
    await article(page, 'course 42.').waitFor()
    const rows = page.locator('.main .feed-rows > :is(article, .unread-line)')
    expect((await rows.allTextContents()).slice(-3)).toEqual([
      expect.stringContaining('course 41.'),
      'New messages',
      expect.stringContaining('course 42.'),
    ])
  })

  test('rows are not rendered during fast scrolling, and are rendered when it slows down', async () => {
    const { page, letOlderCome } = await readInTheMiddle(site, undefined)
    letOlderCome()
    const feed = page.getByRole('feed')
    await feed.hover()
    await feed.evaluate((element) => {
      const observer = new MutationObserver(() => {
        if (element.getAttribute('aria-busy') === 'true') document.documentElement.dataset.wasBusy = 'yes'
      })
      observer.observe(element, { attributes: true })
    })
    const wasBusy = async () => (await page.locator('[data-was-busy]').count()) > 0
    // Up and down several times, because a busy machine renders so few frames that the first events look like jumps.
    for (let turn = 0; turn < 200 && !(await wasBusy()); turn++)
      await page.mouse.wheel(0, turn % 20 < 10 ? -2_000 : 2_000)
    expect(await wasBusy()).toBe(true)
    await page.locator('[role=feed][aria-busy=false]').waitFor()
    await page.mouse.wheel(0, -20_000)
    await page.locator('[role=feed][aria-busy=false]').waitFor()
    await expect.poll(() => firstInSight(page)).toMatch(/^message 1\./)
  })

  test('a message that comes in the frame in which the person scrolls up does not scroll the list back', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'capstan' })
    for (let n = 1; n <= 40; n++) await writer.says(`turn ${n}.`, channel)
    const page = await site.signIn('reader', `/c/${channel.id}`)
    await article(page, 'turn 40.').waitFor()
    await untilDrawn(page)
    // The page reads the event of the message after this scroll and before the browser sends the event of the scroll.
    await page.evaluate(() => {
      const { parse } = JSON
      JSON.parse = (text, reviver) => {
        if (text.includes('turn 41.')) document.querySelector('.main .feed-scroller')!.scrollTop = 0
        return parse(text, reviver)
      }
    })
    await writer.says('turn 41.', channel)
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor()
    expect(await firstInSight(page)).toMatch(/^turn 1\./)
  })

  test('an unread message is not counted while the person sees it', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'masthead' })
    const reader = await Person.signIn(site.baseUrl, 'lookout@example.com')
    await reader.post(`/channels/${channel.id}/join`)
    for (let n = 1; n <= 40; n++) await writer.says(`mile ${n}.`, channel)
    await reader.put(`/channels/${channel.id}/read`, { seq: 40 })
    const page = await site.signIn('lookout', `/c/${channel.id}`, { withoutWorker: true })
    await article(page, 'mile 40.').waitFor()
    await channels(page)
      .getByRole('link', { name: /^masthead$/ })
      .waitFor()
    // The server does not get the read state.
    await page.route('**/read', (route) => route.abort())
    const titles = await page.evaluateHandle(() => {
      const seen = [document.title]
      new MutationObserver(() => seen.push(document.title)).observe(document.head, { childList: true, subtree: true })
      return seen
    })
    await writer.says('mile 41.', channel)
    await article(page, 'mile 41.').waitFor()
    await untilDrawn(page)
    expect(
      await channels(page)
        .getByRole('link', { name: /^masthead/ })
        .textContent(),
    ).toBe('masthead')
    expect((await titles.jsonValue()).filter((title) => title.startsWith('('))).toEqual([])
    await page.getByRole('feed').hover()
    const unread = channels(page).getByRole('link', { name: /^masthead.* 1 unread message$/ })
    // A first turn of the wheel is lost when the list is moved to its end in the same frame, because its fonts have come.
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, -400)
        await untilDrawn(page)
        return unread.count()
      })
      .toBe(1)
    await expect.poll(() => page.title()).toMatch(/^\(1\) /)

    // Messages of a channel that the person has not joined are not in the number, so they are not subtracted from it.
    const other = await writer.creates({ name: 'foretop' })
    await writer.says('fathom 1.', other)
    await page.goto(`${site.baseUrl}/c/${other.id}`)
    await article(page, 'fathom 1.').waitFor()
    await writer.says('fathom 2.', other)
    await article(page, 'fathom 2.').waitFor()
    await expect.poll(() => page.title()).toContain('#foretop')
    expect(await page.title()).toMatch(/^\(1\) /)
  })

  test('the end of a list stays visible while its newest message grows', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'growing' })
    for (let n = 1; n < 40; n++) await writer.says(`line ${n}.`, channel)
    const page = await site.signIn('reader', `/c/${channel.id}`)
    await article(page, 'line 39.').waitFor()
    const last = await writer.says('the last line.', channel)
    await article(page, 'the last line.').waitFor()
    await writer.put(`/messages/${last.id}`, { content: 'the last line. '.repeat(200) })
    await article(page, 'the last line. the last line.').waitFor()
    await expect.poll(() => belowWindow(page)).toBeLessThan(1)
  })

  test('the end of a list stays visible when files are chosen, also after a message had the focus', async () => {
    const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
    const channel = await writer.creates({ name: 'luggage' })
    for (let n = 1; n < 40; n++) await writer.says(`trunk ${n}.`, channel)
    const page = await site.signIn('reader', `/c/${channel.id}`)
    await article(page, 'trunk 39.').waitFor()
    await article(page, 'trunk 37.').focus()
    await page.keyboard.press('ArrowDown')
    await hasFocus(article(page, 'trunk 38.'))
    const files = Array.from({ length: 12 }, (_, n) => ({
      name: `a list of what is in trunk ${n}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from('shirts'),
    }))
    await page.locator('main input[type=file]').setInputFiles(files)
    await page.getByRole('button', { name: `Remove ${files.at(-1)!.name}` }).waitFor()
    await untilDrawn(page)
    expect(await belowWindow(page)).toBeLessThan(1)
    expect(await page.getByRole('button', { name: 'Jump to newest' }).count()).toBe(0)
  })

  test('a list that is closed in its first frame ignores the event of its scroll, which comes in the next one', async () => {
    const hasty = await Person.signIn(site.baseUrl, 'hasty@example.com')
    const channel = await hasty.creates({ name: 'corridor' })
    for (let n = 1; n <= 60; n++) await hasty.says(`door ${n}`, channel)
    const page = await site.signIn('hasty', `/c/${channel.id}`)
    await article(page, 'door 60').waitFor()
    await page.evaluate(async () => {
      const links = [...document.querySelectorAll<HTMLAnchorElement>('nav a')]
      const [corridor, general] = ['corridor', 'General'].map((name) =>
        links.find((link) => link.innerText.startsWith(name)),
      )
      const isAtEnd = () => (document.querySelector('.main .feed-scroller')?.scrollTop ?? 0) > 0
      for (let turn = 0; turn < 20; turn++) {
        general!.click()
        await new Promise(requestAnimationFrame)
        await new Promise(requestAnimationFrame)
        corridor!.click()
        while (!isAtEnd()) await new Promise((resolve) => setTimeout(resolve))
      }
    })
    // The page must not report an error, which `signIn` checks.
    await article(page, 'door 60').waitFor()
  })
})

/**
 * Scrolls up until the message that the person reads is near the upper edge of the viewport. The page of older messages is requested, and
 * its response has not come yet.
 */
async function readInTheMiddle(site: Parameters<Parameters<typeof describeSite>[2]>[0], script: string | undefined) {
  const writer = await Person.signIn(site.baseUrl, 'writer@example.com')
  const channel = await writer.creates({ name: `chronicle ${Math.random().toString(36).slice(2)}` })
  const said: { id: string }[] = []
  for (let n = 1; n <= messages; n++)
    said.push(await writer.says(`message ${n}. ${'words of some length '.repeat(n % 7)}`, channel))
  const page = await site.openPage('/docs', { withoutWorker: true })
  const older = Promise.withResolvers<void>()
  await page.route('**/messages?*before=*', async (route) => {
    await older.promise
    await route.continue()
  })
  if (script) await page.addInitScript(script)
  await page.goto(`${site.baseUrl}/c/${channel.id}`)
  await page.getByLabel('Email').fill('reader@example.com')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await article(page, `message ${messages}.`).waitFor()
  await page.getByRole('feed').hover()
  for (let turn = 0; turn < 100 && (await topOf(page, read)) < 30; turn++) {
    await page.mouse.wheel(0, -40)
    await untilDrawn(page)
  }
  return { page, writer, channel, said, letOlderCome: older.resolve }
}

/** Waits for the fonts. The list moves to its end when they come, and a turn of the wheel in the same frame would be lost. */
async function hasFonts(page: Page) {
  const isLoaded = () => [...document.fonts].some(({ family, status }) => /Inter/.test(family) && status === 'loaded')
  await expect.poll(() => page.evaluate(isLoaded)).toBe(true)
  await untilDrawn(page)
}

/** The distance of a message from the top of the list in pixels, or -Infinity when it is not rendered. */
async function topOf(page: Page, text: string): Promise<number> {
  await untilDrawn(page)
  const list = page.getByRole('main').getByRole('feed')
  return list.evaluate((feed, said) => {
    const found = [...feed.querySelectorAll('article')].find((each) => each.textContent.includes(said))
    return found ? found.getBoundingClientRect().top - feed.getBoundingClientRect().top : -Infinity
  }, text)
}

const scrollHeight = (page: Page) => page.locator('.feed-scroller').evaluate((element) => element.scrollHeight)

const belowWindow = (page: Page) =>
  page.locator('.feed-scroller').evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop)

const firstInSight = (page: Page) =>
  page.getByRole('feed').evaluate((feed) => {
    const { top } = feed.getBoundingClientRect()
    const found = [...feed.querySelectorAll('article')].find((each) => each.getBoundingClientRect().bottom > top + 1)
    return found?.querySelector('.text')?.textContent ?? ''
  })
