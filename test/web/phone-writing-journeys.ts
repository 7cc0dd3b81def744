import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { endOf } from './measures.ts'
import { fingerOn, narrowest, phone } from './phones.ts'
import type { Site } from './site.ts'
import { act, article, composer, hasFocus } from './visitors.ts'

/** The text box on a phone: its buttons, its suggestions, and the space above the keyboard. */
export function phoneWritingJourneys(site: Site) {
  const { signIn } = site

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
    const touch = await fingerOn(page)
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

  test('above the keyboard of a phone, an empty channel stays below its head, and suggestions stay below the top', async () => {
    const iris = await Person.signIn(site.baseUrl, 'iris@example.com')
    const channel = await iris.creates({ name: 'keys' })
    const page = await signIn('iris', `/c/${channel.id}`, { ...narrowest, viewport: { width: 320, height: 300 } })
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
}
