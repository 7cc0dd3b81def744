import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import {
  act,
  article,
  channelIdOf,
  channels,
  composer,
  createChannel,
  hasFocus,
  isAccessible,
  openChannel,
  say,
} from './visitors.ts'

/** Writing, editing and quoting. */
export function writingJourneys(site: Site) {
  const { signIn } = site

  test('emoji are chosen by category, arrow keys, skin tone, from the recent ones and with one click', async () => {
    const lea = await signIn('lea')
    await createChannel(lea, 'pantry')
    await say(lea, 'pantry', 'soup is ready')
    await act(lea, 'soup is ready', 'React')
    const picker = lea.getByRole('dialog', { name: 'React' })
    // It is beside its button. Offsets do not depend on the animation.
    const tool = article(lea, 'soup is ready').getByRole('button', { name: 'React', includeHidden: true })
    const button = (await tool.boundingBox())!
    const [top, right] = await picker.evaluate(({ offsetTop, offsetLeft, offsetWidth }: HTMLElement) => [
      offsetTop,
      offsetLeft + offsetWidth,
    ])
    expect(right).toBeCloseTo(button.x + button.width, 0)
    const bottom = await picker.evaluate(({ offsetTop, offsetHeight }: HTMLElement) => offsetTop + offsetHeight)
    expect(Math.min(Math.abs(bottom - button.y), Math.abs(top! - button.y - button.height))).toBeLessThan(6)
    const region = (name: string) => picker.getByRole('region', { name })
    await region('Smileys and emotion').waitFor()
    expect(await region('Recently used').count()).toBe(0)
    // What looks for a searchbox or a combobox finds one field.
    await picker.getByRole('searchbox').or(picker.getByRole('combobox')).fill('')
    await isAccessible(lea)

    await picker
      .getByRole('radiogroup', { name: 'Skin tone' })
      .getByRole('radio', { name: 'Medium', exact: true })
      .check()
    await picker.getByRole('button', { name: 'People and body', exact: true }).click()
    await region('People and body').getByRole('button', { name: 'wave', exact: true }).click()
    await article(lea, 'soup is ready').getByRole('button', { name: '👋🏽 1' }).waitFor()

    await act(lea, 'soup is ready', 'React')
    await region('Recently used').getByRole('button', { name: 'wave', exact: true }).waitFor()
    await lea.keyboard.press('ArrowDown')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('wave')
    await lea.keyboard.press('ArrowDown')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('grinning')
    await lea.keyboard.press('ArrowRight')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('smiley')
    await lea.keyboard.press('Enter')
    await article(lea, 'soup is ready').getByRole('button', { name: '😃 1' }).waitFor()

    await say(lea, 'pantry', 'bread as well')
    const bread = article(lea, 'bread as well')
    await bread.hover()
    await bread.getByRole('button', { name: 'Respond with wave' }).waitFor()
    await bread.getByRole('button', { name: 'Respond with +1' }).waitFor()
    await isAccessible(lea)
    const quick = bread.getByRole('button', { name: 'Respond with smiley' })
    await quick.click()
    await bread.getByRole('button', { name: '😃 1' }).waitFor()
    await quick.waitFor({ state: 'detached' })
  })

  test('a key of an input method sends nothing, saves nothing, and chooses nothing', async () => {
    const hana = await signIn('hana')
    await createChannel(hana, 'kanji')
    // The event of Safari: the composition has ended when the Enter that confirms its text comes.
    const confirming = { key: 'Enter', keyCode: 229 }
    const box = composer(hana, 'kanji')
    await box.fill('かな')
    await box.dispatchEvent('keydown', confirming)
    expect(await box.inputValue()).toBe('かな')
    await box.press('Enter')
    await act(hana, 'かな', 'Edit')
    const edited = hana.getByRole('textbox', { name: 'Edit message' })
    await edited.fill('仮名')
    await edited.dispatchEvent('keydown', confirming)
    expect(await edited.inputValue()).toBe('仮名')
    await edited.press('Enter')
    await article(hana, '仮名').waitFor()
    await hana.keyboard.press('Control+k')
    const switcher = hana.getByRole('dialog').getByRole('combobox')
    await hana.getByRole('option', { name: 'General' }).waitFor()
    await switcher.dispatchEvent('keydown', confirming)
    expect(await switcher.isVisible()).toBe(true)
    expect(await hana.getByRole('heading', { level: 1 }).textContent()).toContain('kanji')
  })

  test('the text box is as high as its text in a browser without field-sizing', async () => {
    const ivo = await signIn('ivo')
    await createChannel(ivo, 'letters')
    await ivo.addInitScript(() => {
      const { supports } = CSS
      CSS.supports = ((...asked: [string]) =>
        asked[0] !== 'field-sizing' && supports.call(CSS, ...asked)) as typeof supports
      const sheet = new CSSStyleSheet()
      sheet.replaceSync('textarea { field-sizing: fixed !important }')
      document.adoptedStyleSheets = [sheet]
    })
    await ivo.reload()
    const box = composer(ivo, 'letters')
    const height = () => box.evaluate(({ clientHeight }) => clientHeight)
    const oneLine = await height()
    await box.fill('one\ntwo\nthree')
    expect(await box.evaluate(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)).toBe(0)
    expect(await height()).toBeGreaterThan(oneLine + 20)
    await ivo.reload()
    await expect.poll(height).toBeGreaterThan(oneLine + 20)
    await box.press('Enter')
    expect(await height()).toBe(oneLine)
    await act(ivo, 'three', 'Edit')
    const edited = ivo.getByRole('textbox', { name: 'Edit message' })
    await edited.waitFor()
    expect(await edited.evaluate(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)).toBe(0)
  })

  test('a reaction tells the names of twenty people, and the number of the others', async () => {
    const xao = await signIn('xao')
    await createChannel(xao, 'crew deck')
    await say(xao, 'crew deck', 'shore leave')
    const id = channelIdOf(xao)
    const crew: Person[] = []
    for (let n = 0; n < 21; n++) crew.push(await Person.signIn(site.baseUrl, `hand.${n}@example.com`))
    const { messages } = (await crew[0]!.get(`/channels/${id}/messages`)).body
    for (const { post } of crew) await post(`/messages/${messages[0].id}/reactions`, { reaction: '⛵' })
    const reaction = article(xao, 'shore leave').getByRole('button', { name: '⛵ 21' })
    await reaction.hover()
    await expect.poll(() => reaction.getAttribute('title')).toMatch(/^hand\.0, (hand\.\d+, ){18}hand\.19 \+1$/)
  })

  test('the text of a message with files can be removed, and ArrowUp edits no message that was deleted', async () => {
    const xia = await signIn('xia')
    await createChannel(xia, 'scullery')
    await say(xia, 'scullery', 'no soup')
    await xia
      .locator('input[type=file]')
      .setInputFiles({ name: 'menu.txt', mimeType: 'text/plain', buffer: Buffer.from('soup') })
    await say(xia, 'scullery', 'see below')
    await say(xia, 'scullery', 'sorry')
    await act(xia, 'sorry', 'Delete')
    await xia.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await article(xia, 'sorry').waitFor({ state: 'detached' })
    await composer(xia, 'scullery').press('ArrowUp')
    const edit = xia.getByRole('textbox', { name: 'Edit message' })
    expect(await edit.inputValue()).toBe('see below')
    await edit.fill('')
    await edit.press('Enter')
    await article(xia, 'menu.txt').getByText('(edited)').waitFor()
    expect(await article(xia, 'see below').count()).toBe(0)
  })

  test('text that was copied from an office program is pasted as text, and a picture as a file', async () => {
    const yan = await signIn('yan')
    await createChannel(yan, 'purser')
    const box = composer(yan, 'purser')
    /** Returns whether the browser pastes the text. */
    const paste = (text: Record<string, string>) =>
      box.evaluate((element, given) => {
        const clipboardData = new DataTransfer()
        for (const [type, value] of Object.entries(given)) clipboardData.setData(type, value)
        clipboardData.items.add(new File(['picture'], 'image.png', { type: 'image/png' }))
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        return element.dispatchEvent(event)
      }, text)
    const file = yan.getByRole('button', { name: 'Remove image.png' })
    const cells = { 'text/plain': 'a\tb', 'text/html': '<table><tr><td>a<td>b</table>' }
    // Until the part of the page that reads formats is loaded, the browser pastes the text.
    await expect.poll(() => paste(cells)).toBe(false)
    await expect.poll(() => box.inputValue()).toBe('a\tb')
    expect(await file.count()).toBe(0)
    expect(await paste({ 'text/html': '<img src="https://example.com/image.png">' })).toBe(false)
    await file.waitFor()
  })

  test('a message is sent without the quotation of a message that was deleted, and a link to a message opens in the same tab', async () => {
    const yul = await signIn('yul')
    await createChannel(yul, 'wheelhouse')
    const id = channelIdOf(yul)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const heading = await eve.says('north by west', { id })
    await act(yul, 'north by west', 'Quote')
    await yul.getByText('Quoting eve').waitFor()
    await eve.delete(`/messages/${heading.id}`)
    await yul.getByText('Quoting eve').waitFor({ state: 'detached' })
    await say(yul, 'wheelhouse', 'understood')
    const address = await article(yul, 'understood').getByRole('link').getAttribute('href')

    await eve.says(`As you said in ${site.baseUrl}${address}`, { id })
    await article(yul, 'As you said').getByRole('link', { name: site.baseUrl }).click()
    await yul.waitForURL(`**${address}`)
  })

  test('a person writes on after the text of a draft', async () => {
    const page = await signIn('vera')
    for (const name of ['rudder', 'tiller']) await createChannel(page, name)
    const box = composer(page, 'tiller')
    await hasFocus(box)
    await page.keyboard.type('to be')
    await openChannel(page, 'rudder')
    await hasFocus(composer(page, 'rudder'))
    await openChannel(page, 'tiller')
    await hasFocus(box)
    await page.keyboard.type(' continued')
    expect(await box.inputValue()).toBe('to be continued')
    await page.reload()
    await hasFocus(box)
    await page.keyboard.type('!')
    expect(await box.inputValue()).toBe('to be continued!')
  })

  test('a chosen quotation stays with the draft, until its message is deleted', async () => {
    const kai = await signIn('kai')
    await createChannel(kai, 'forecastle')
    const id = channelIdOf(kai)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    await eve.says('first watch', { id })
    const second = await eve.says('second watch', { id })
    const third = await eve.says('third watch', { id })
    const quotation = kai.getByText('Quoting eve')
    // A message that arrives would move the list below the pointer.
    await article(kai, 'third watch').waitFor()
    await act(kai, 'first watch', 'Quote')
    await hasFocus(composer(kai, 'forecastle'))
    await openChannel(kai, 'General')
    expect(await quotation.count()).toBe(0)
    await channels(kai).getByRole('link', { name: 'forecastle' }).getByText('Draft').waitFor()
    await openChannel(kai, 'forecastle')
    await quotation.waitFor()
    expect(await quotation.textContent()).toContain('first watch')
    await kai.reload()
    await quotation.waitFor()
    await say(kai, 'forecastle', 'thank you')
    await article(kai, 'thank you').getByRole('blockquote').getByText('first watch').waitFor()
    await quotation.waitFor({ state: 'detached' })

    await act(kai, 'second watch', 'Quote')
    await openChannel(kai, 'General')
    const draft = channels(kai).getByRole('link', { name: 'forecastle' }).getByText('Draft')
    await draft.waitFor()
    await eve.delete(`/messages/${second.id}`)
    await draft.waitFor({ state: 'detached' })

    // When a session ends by itself, drafts stay, but no events say what happens until the next sign-in.
    await openChannel(kai, 'forecastle')
    await act(kai, 'third watch', 'Quote')
    await composer(kai, 'forecastle').fill('half a thought')
    const same = await Person.signIn(site.baseUrl, 'kai@example.com')
    await same.delete('/auth/sessions')
    await kai.getByRole('button', { name: 'Sign in' }).waitFor()
    await eve.delete(`/messages/${third.id}`)
    await kai.getByLabel('Email').fill('kai@example.com')
    await kai.getByRole('button', { name: 'Sign in' }).click()
    await openChannel(kai, 'forecastle')
    await quotation.waitFor({ state: 'detached' })
    expect(await composer(kai, 'forecastle').inputValue()).toBe('half a thought')
  })
}
