import { describe, expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, createChannel, isAccessible, say, showIn } from './visitors.ts'

/** The text of a message and its time, as people read, select and copy them. */
export function messageTextJourneys(site: Site) {
  const { signIn } = site

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
      await showIn(page, language)
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
}

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
