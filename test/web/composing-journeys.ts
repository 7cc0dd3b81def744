import { readFile } from 'node:fs/promises'
import type { Locator, Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import {
  act,
  article,
  channelIdOf,
  composer,
  createChannel,
  hasFocus,
  isAccessible,
  isStored,
  openChannel,
  refuseMessages,
  say,
} from './visitors.ts'

/** Chooses the emoji with the emoji button of the text box. */
async function chooseAnchor(page: Page) {
  await page.getByRole('main').getByRole('button', { name: 'Emoji', exact: true }).click()
  const picker = page.getByRole('dialog', { name: 'Emoji' })
  await picker.getByRole('searchbox').fill('anchor')
  await picker
    .getByRole('button', { name: /anchor/ })
    .first()
    .click()
  await picker.waitFor({ state: 'detached' })
}

/** A message before it is sent: its text, its quotation, and that others see somebody typing. */
export function composingJourneys(site: Site) {
  const { signIn } = site

  test('the formatting bar marks words and lines, what it does can be undone, and the draft has it', async () => {
    const ari = await signIn('ari')
    await createChannel(ari, 'log')
    const box = composer(ari, 'log')
    const press = (name: string) => ari.getByRole('button', { name, exact: true }).click()
    const select = (text: string) =>
      box.evaluate((element, wanted) => {
        const area = element as HTMLTextAreaElement
        const from = area.value.indexOf(wanted)
        area.setSelectionRange(from, from + wanted.length)
      }, text)
    for (const [text, selected, name, marked] of [
      ['one two three', 'two', 'Bold', 'one **two** three'],
      ['one two three', 'two ', 'Italic', 'one _two_ three'],
      ['one\n\ntwo', 'one\n\ntwo', 'Strikethrough', '~one~\n\n~two~'],
      ['one two', 'two', 'Code', 'one `two`'],
      ['one\ntwo\nthree', 'ne\ntw', 'Code', '```\none\ntwo\n```\nthree'],
      ['\none\ntwo\nthree', 'one\ntwo\n', 'Quotation', '\n> one\n> two\nthree'],
      ['\none', '', 'List', '- \none'],
      ['שלום עולם', 'שלום', 'Bold', '**שלום** עולם'],
    ] as const) {
      await box.fill(text)
      await select(selected)
      await press(name)
      expect(await box.inputValue()).toBe(marked)
      await hasFocus(box)
    }
    // The person goes on typing: between the signs, or the address of the link.
    for (const [text, selected, name, typed, result] of [
      ['', '', 'Bold', 'loud', '**loud**'],
      ['', '', 'Link', 'here', '[here](https://)'],
      ['see here', 'here', 'Link', 'https://example.com', 'see [here](https://example.com)'],
    ] as const) {
      await box.fill(text)
      await select(selected)
      await press(name)
      await ari.keyboard.type(typed)
      expect(await box.inputValue()).toBe(result)
    }
    await box.fill('one two')
    await select('two')
    await box.press('Control+b')
    expect(await box.inputValue()).toBe('one **two**')
    await box.press('Control+z')
    expect(await box.inputValue()).toBe('one two')
    await select('two')
    await box.press('Control+Shift+X')
    expect(await box.inputValue()).toBe('one ~two~')
    await box.press('Control+z')
    // The same format again removes its signs, and what it removes can be undone.
    await select('two')
    await press('Bold')
    await box.press('Control+b')
    expect(await box.inputValue()).toBe('one two')
    await box.press('Control+z')
    expect(await box.inputValue()).toBe('one **two**')
    await select('two')
    await press('Bold')
    expect(await box.inputValue()).toBe('one two')
    await press('Bold')
    await ari.reload()
    await expect.poll(() => box.inputValue()).toBe('one **two**')
    await box.press('Enter')
    await article(ari, 'one two').locator('strong', { hasText: 'two' }).waitFor()
  })

  test('Enter after the line that begins a block of code begins its first line, and then sends the block', async () => {
    const ilse = await signIn('ilse')
    await createChannel(ilse, 'engine room')
    const box = composer(ilse, 'engine room')
    // The code is loaded after the first view. Until then, Enter sends the line.
    await expect
      .poll(async () => {
        await box.fill('See:\n```ts')
        await box.press('Enter')
        return box.inputValue()
      })
      .toBe('See:\n```ts\n')
    await ilse.keyboard.type('const rpm = 1')
    await box.press('Enter')
    expect(await box.inputValue()).toBe('')
    await article(ilse, 'const rpm = 1').locator('pre').waitFor()
    // A block that ends in this line is sent.
    await box.fill('```\nstop()\n```')
    await box.press('Enter')
    expect(await box.inputValue()).toBe('')
  })

  test('selected text becomes a link when an address is pasted over it, and other text and addresses are replaced', async () => {
    const ilse = await signIn('ilse')
    await createChannel(ilse, 'tow rope')
    const box = composer(ilse, 'tow rope')
    const pasteOver = async (text: string, pasted: string) => {
      await box.fill(text)
      await box.selectText()
      await box.evaluate((element, data) => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', data)
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        // The browser does not insert the text of an event of a script.
        if (element.dispatchEvent(event)) document.execCommand('insertText', false, data)
      }, pasted)
      return box.inputValue()
    }
    expect(await pasteOver('the chart', 'https://example.com/chart')).toBe('[the chart](https://example.com/chart)')
    await ilse.keyboard.press('Control+z')
    expect(await box.inputValue()).toBe('the chart')
    expect(await pasteOver('the chart', 'the map')).toBe('the map')
    expect(await pasteOver('https://example.com/old', 'https://example.com/new')).toBe('https://example.com/new')
  })

  test('suggested people are first the members of the channel, and then those whose name begins with the text', async () => {
    const named = async (address: string, userName: string) => {
      const person = await Person.signIn(site.baseUrl, `${address}@example.com`)
      expect((await person.put('/users/me', { userName })).status).toBe(200)
      return person
    }
    const [feather, quillon] = [await named('q.1', 'Old Quillfeather'), await named('q.2', 'quillon')]
    await named('q.3', 'Zed Quillan')
    const square = await feather.creates({ name: 'village square' })
    const page = await signIn('otmar', `/c/${square.id}`, { withoutWorker: true })
    // The page knows these people, because they have written.
    for (let n = 1; n <= 7; n++) {
      await (await named(`q.1${n}`, `quills ${n}`)).says(`news ${n}.`, square)
      await article(page, `news ${n}.`).waitFor()
    }
    await page.getByRole('button', { name: 'Join channel' }).click()
    const me = await Person.signIn(site.baseUrl, 'otmar@example.com')
    const desk = await me.creates({ name: 'writing desk', members: [feather.id, quillon.id] })
    await openChannel(page, 'writing desk')
    const options = page.getByRole('listbox').getByRole('option')
    const names = () => options.locator('span[dir=auto]:not(.quiet)').allTextContents()
    const quills = Array.from({ length: 6 }, (_, n) => `@quills ${n + 1}`)
    await composer(page, 'writing desk').pressSequentially('@quil')
    await expect.poll(names).toEqual(['@quillon', '@Old Quillfeather', ...quills])
    // The members of a small channel are known now.
    let fetchesOfMembers = 0
    page.on('request', (request) => void (request.url().includes('/members?') && fetchesOfMembers++))
    const found = page.waitForResponse(/users\?q=quill&/)
    await page.keyboard.type('l')
    await found
    await expect.poll(names).toEqual(['@quillon', '@Old Quillfeather', ...quills])
    expect(fetchesOfMembers).toBe(0)

    // What a person has chosen stays chosen when the response comes.
    const third = (await me.get('/users?q=quills%203')).body.users[0]
    await me.put(`/channels/${desk.id}`, { addMembers: [third.id] })
    await page.getByRole('button', { name: '4 members' }).waitFor()
    const held: Route[] = []
    await page.route(/\/users\?q=quills|\/members\?/, (route) => void held.push(route))
    await page.keyboard.type('s')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => held.length).toBe(2)
    const marked = page.getByRole('option', { selected: true })
    await marked.filter({ hasText: '@quills 2' }).waitFor()
    for (const route of held) await route.continue()
    await expect.poll(async () => (await names())[0]).toBe('@quills 3')
    await marked.filter({ hasText: '@quills 2' }).waitFor()
  })

  test('suggested people are first those who have written last in the thread or in the channel', async () => {
    const crew: Person[] = []
    for (const name of ['yara', 'xenia', 'wanda']) crew.push(await Person.signIn(site.baseUrl, `${name}@example.com`))
    const [yara, xenia, wanda] = crew as [Person, Person, Person]
    const channel = await yara.creates({ name: 'watch list' })
    const parent = await xenia.says('who has the first watch?', channel)
    await wanda.says('not me.', channel)
    await yara.says('nor me.', channel)
    const page = await signIn('viktor', `/c/${channel.id}`)
    await say(page, 'watch list', 'I could.')
    const names = () => page.getByRole('option').locator('span[dir=auto]:not(.quiet)').allTextContents()
    const suggestedIn = async (box: Locator) => {
      await box.fill('@')
      await page.getByRole('option', { name: '@xenia' }).waitFor()
      return names()
    }
    const box = composer(page, 'watch list')
    await expect.poll(async () => (await suggestedIn(box)).slice(0, 3)).toEqual(['@yara', '@wanda', '@xenia'])
    await xenia.says('then it is settled.', channel)
    await article(page, 'then it is settled.').waitFor()
    await expect.poll(async () => (await suggestedIn(box)).slice(0, 3)).toEqual(['@xenia', '@yara', '@wanda'])

    await wanda.post(`/messages/${parent.id}/thread`, { content: 'the second one is mine.' })
    await act(page, 'who has the first watch?', 'Reply in thread')
    const thread = page.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('article').filter({ hasText: 'the second one' }).waitFor()
    const reply = thread.getByRole('textbox', { name: 'Reply' })
    await expect.poll(async () => (await suggestedIn(reply)).slice(0, 3)).toEqual(['@wanda', '@xenia', '@yara'])
  })

  test('a chosen suggestion and a chosen emoji can be undone', async () => {
    const ari = await signIn('ari')
    await createChannel(ari, 'logbook')
    const box = composer(ari, 'logbook')
    await box.click()
    await ari.keyboard.type('hey @ar')
    await ari.getByRole('listbox').getByRole('option', { name: 'ari' }).first().waitFor()
    await ari.keyboard.press('Enter')
    expect(await box.inputValue()).toBe('hey @ari ')
    await ari.keyboard.press('Control+z')
    expect(await box.inputValue()).toBe('hey @ar')
    await box.press('End')
    await chooseAnchor(ari)
    expect(await box.inputValue()).toMatch(/^hey @ar⚓/)
    await ari.keyboard.press('Control+z')
    expect(await box.inputValue()).toBe('hey @ar')
  })

  test('a chosen emoji leaves the focus in the text box, so that Enter sends', async () => {
    const abe = await signIn('abe')
    await createChannel(abe, 'semaphore')
    const box = composer(abe, 'semaphore')
    await box.fill('all well ')
    await chooseAnchor(abe)
    await hasFocus(box)
    await abe.keyboard.type(' here')
    await abe.keyboard.press('Enter')
    await article(abe, /all well \S+ here/).waitFor()
  })

  test('a person who types after a click on a message or beside it writes into the text box of that place', async () => {
    const uma = await signIn('uma')
    await createChannel(uma, 'open deck')
    await say(uma, 'open deck', 'click me')
    await isStored(uma, 'click me')
    const box = composer(uma, 'open deck')
    const blur = () => uma.evaluate(() => (document.activeElement as HTMLElement).blur())
    const typed = async () => {
      await blur()
      await uma.keyboard.type('a')
      return box.inputValue()
    }
    // The code is loaded after the first view.
    await expect.poll(typed).toBe('a')
    await article(uma, 'click me').focus()
    await uma.keyboard.type('bc')
    expect(await box.inputValue()).toBe('abc')
    await act(uma, 'click me', 'Reply in thread')
    const thread = uma.getByRole('complementary', { name: 'Thread' })
    // An empty list gives the focus to the text box, if nothing else has it.
    await thread.getByText('No replies yet').waitFor()
    await thread.getByRole('article').first().focus()
    await uma.keyboard.type('here')
    expect(await thread.getByRole('textbox', { name: 'Reply' }).inputValue()).toBe('here')
    await blur()
    await uma.keyboard.type('?')
    await uma.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await box.inputValue()).toBe('abc')
  })

  test('a text that is too long stays in the text box until it is shortened', async () => {
    const kit = await signIn('kit')
    await createChannel(kit, 'ledger')
    const box = composer(kit, 'ledger')
    const text = '🚢'.repeat(16_001)
    await box.fill(text)
    await box.press('Enter')
    const tooLong = kit.getByRole('alert').filter({ hasText: 'at most 16,000 characters' })
    await tooLong.waitFor()
    expect(await box.inputValue()).toBe(text)
    await box.fill(text.slice(2))
    await box.press('Enter')
    await article(kit, '🚢').waitFor()
    await tooLong.waitFor({ state: 'detached' })
    expect(await box.inputValue()).toBe('')
  })

  test('a text that is too long can be sent as a text file, and stays in the text box when that is refused', async () => {
    const ned = await signIn('ned', '/', { withoutWorker: true })
    await createChannel(ned, 'deck log')
    const box = composer(ned, 'deck log')
    const text = 'The wind was fair. '.repeat(1_000)
    await box.fill(text)
    await ned.route('**/files/binary*', (route) =>
      route.fulfill({ status: 400, json: { error: 'Not today', code: 'invalid' } }),
    )
    const tooLong = ned.getByRole('alert').filter({ hasText: 'at most 16,000 characters' })
    const sendAsFile = tooLong.getByRole('button', { name: 'Send as a text file' })
    await box.press('Enter')
    await sendAsFile.click()
    await tooLong.waitFor({ state: 'detached' })
    await ned.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    expect(await ned.getByRole('button', { name: 'Remove message.txt' }).count()).toBe(0)
    expect(await box.inputValue()).toBe(text)

    await ned.unrouteAll()
    await box.press('Enter')
    await isAccessible(ned)
    await sendAsFile.press('Enter')
    await hasFocus(box)
    const link = ned.getByRole('article').getByRole('link', { name: 'message.txt' })
    await link.waitFor()
    await ned.getByText('Sending…').waitFor({ state: 'detached' })
    expect(await box.inputValue()).toBe('')
    const begun = ned.waitForEvent('download')
    await link.click()
    expect(await readFile(await (await begun).path(), 'utf8')).toBe(text)

    // The sentence is about this text box.
    await box.fill(text)
    await box.press('Enter')
    await tooLong.waitFor()
    await openChannel(ned, 'General')
    await tooLong.waitFor({ state: 'detached' })
  })

  test('a refused message stays until it is discarded, also after a reload, and a quotation and a file can be removed', async () => {
    const ash = await signIn('ash', '/', { withoutWorker: true })
    await createChannel(ash, 'hatch')
    await say(ash, 'hatch', 'first words')
    const box = composer(ash, 'hatch')
    await refuseMessages(ash)
    await box.fill('may I say this?')
    await box.press('Enter')
    const refused = article(ash, 'may I say this?')
    await refused.getByText('Not sent').waitFor()
    await refused.getByText('Not today').waitFor()
    await ash.reload()
    await article(ash, 'first words').waitFor()
    await hasFocus(box)
    await refused.getByRole('button', { name: 'Retry' }).press('Enter')
    // The retry is another entry of the outbox, and it is refused again.
    await hasFocus(refused)
    await refused.getByText('Sending…').waitFor({ state: 'detached' })
    await refused.getByRole('button', { name: 'Discard' }).press('Enter')
    await refused.waitFor({ state: 'detached' })
    await hasFocus(article(ash, 'first words'))
    await ash.reload()
    await article(ash, 'first words').waitFor()
    expect(await refused.count()).toBe(0)
    await ash.unrouteAll()

    await act(ash, 'first words', 'Quote')
    await ash.getByText('Quoting ash').waitFor()
    await ash.getByRole('button', { name: 'Remove quotation' }).press('Enter')
    await ash.getByText('Quoting ash').waitFor({ state: 'detached' })
    await hasFocus(box)
    const file = { name: 'hold.txt', mimeType: 'text/plain', buffer: Buffer.from('full') }
    await ash.locator('main input[type=file]').setInputFiles(file)
    await ash.getByRole('button', { name: 'Remove hold.txt' }).press('Enter')
    await hasFocus(box)
    await say(ash, 'hatch', 'last words')
    await article(ash, 'last words').getByRole('link').waitFor()
    expect(await article(ash, 'last words').getByRole('blockquote').count()).toBe(0)
    expect(await article(ash, 'last words').getByText('hold.txt').count()).toBe(0)
  })

  test('the names of up to three people who are typing are shown, and each until their message comes', async () => {
    const bea = await signIn('bea')
    await createChannel(bea, 'signals')
    const id = channelIdOf(bea)
    const [cid, dot, eli] = await Promise.all(
      ['cid', 'dot', 'eli'].map(async (name) => {
        const person = await Person.signIn(site.baseUrl, `${name}@example.com`)
        await person.post(`/channels/${id}/join`)
        return person
      }),
    )
    // The names would also go after some seconds.
    await bea.clock.setFixedTime(Date.now())
    const fin = await signIn('fin', `/c/${id}`)
    await composer(fin, 'signals').pressSequentially('aye')
    await bea.getByText('fin is typing…').waitFor()
    const types = (person: Person) => person.put(`/channels/${id}/typing`)
    await types(cid!)
    await bea.getByText('fin and cid are typing…').waitFor()
    await types(dot!)
    await bea.getByText('fin, cid, and dot are typing…').waitFor()
    await types(eli!)
    await bea.getByText('Several people are typing…').waitFor()
    await composer(fin, 'signals').press('Enter')
    await article(bea, 'aye').waitFor()
    await bea.getByText('cid, dot, and eli are typing…').waitFor()
  })

  test('Shift+Enter in a list begins the next item, and ends the list in an empty one', async () => {
    const lou = await signIn('lou')
    await createChannel(lou, 'packing')
    const box = composer(lou, 'packing')
    const lines = async (...texts: string[]) => {
      await box.fill('')
      for (const text of texts) {
        if (text !== texts[0]) await lou.keyboard.press('Shift+Enter')
        await lou.keyboard.type(text)
      }
      return box.inputValue()
    }
    // The code is loaded after the first view.
    await expect.poll(() => lines('- rope', 'anchor')).toBe('- rope\n- anchor')
    await lou.keyboard.press('Control+Z')
    expect(await box.inputValue()).toMatch(/^- rope(\n- ancho?)?/)
    expect(await lines('9. rope', 'anchor')).toBe('9. rope\n10. anchor')
    expect(await lines('```', '- rope', 'anchor')).toBe('```\n- rope\nanchor')
    expect(await lines('-rope', 'anchor')).toBe('-rope\nanchor')
    // Who types the sign again does not get it twice.
    expect(await lines('- rope', '- anchor', '-5 °C', '2. bell')).toBe('- rope\n- anchor\n- -5 °C\n2. bell')
    expect(await lines('1. rope', '2. anchor', '5 bells')).toBe('1. rope\n2. anchor\n3. 5 bells')
    await lines('- rope', '')
    await lou.keyboard.press('Shift+Enter')
    await lou.keyboard.type('done')
    expect(await box.inputValue()).toBe('- rope\ndone')
    await box.press('Enter')
    await article(lou, 'done').getByRole('listitem').filter({ hasText: 'rope' }).waitFor()
    await isStored(lou, 'done')
    await box.press('ArrowUp')
    const edit = lou.getByRole('textbox', { name: 'Edit message' })
    await edit.press('Control+Home')
    await edit.press('End')
    await edit.press('Shift+Enter')
    await lou.keyboard.type('anchor')
    expect(await edit.inputValue()).toBe('- rope\n- anchor\ndone')
    await edit.press('Escape')
  })
}
