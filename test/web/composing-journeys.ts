import path from 'node:path'
import { limits } from '@parley/contract'
import type { CDPSession, Locator, Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { root } from '../src/launch.ts'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import {
  act,
  article,
  channels,
  composer,
  createChannel,
  hasFocus,
  openChannel,
  refuseMessages,
  say,
} from './visitors.ts'

const idOf = (page: Page) => /\/c\/([^/]+)/.exec(page.url())![1]!

/** Waits until the server has stored a message that was sent. */
const isStored = (page: Page, text: string) => article(page, text).getByText('Sending…').waitFor({ state: 'detached' })

/** Whether the page asks the person before it is left. The browser itself asks only after the person has used the page. */
const asksBeforeLeaving = (page: Page) =>
  page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))

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

/** What is dragged from outside of the browser. */
interface Dragged {
  items: { mimeType: string; data: string }[]
  files?: string[]
}

/** Moves the pointer with the dragged data over an element. */
async function dragOver(devtools: CDPSession, target: Locator, dragged: Dragged) {
  const { x, y, width, height } = (await target.boundingBox())!
  const where = { x: x + width / 2, y: y + height / 2, data: { ...dragged, dragOperationsMask: 1 } }
  await devtools.send('Input.dispatchDragEvent', { type: 'dragEnter', ...where })
  await devtools.send('Input.dispatchDragEvent', { type: 'dragOver', ...where })
  return { drop: () => devtools.send('Input.dispatchDragEvent', { type: 'drop', ...where }) }
}

/** Everything about a message before it is sent: its text, its files, its quotation, and that others see somebody typing. */
export function composingJourneys(site: Site) {
  const { signIn } = site

  test('files are dropped on a channel and on its thread, text is dropped into the text box, and no file opens instead of the page', async () => {
    const ana = await signIn('ana')
    await createChannel(ana, 'ladder')
    const devtools = await ana.context().newCDPSession(ana)
    const file = { items: [], files: [path.join(root, 'package.json')] }
    const main = ana.getByRole('main')
    const hint = ana.locator('[data-dropping="Drop the files to attach them"]')
    const onChannel = await dragOver(devtools, composer(ana, 'ladder'), file)
    await hint.waitFor()
    await onChannel.drop()
    await hint.waitFor({ state: 'detached' })
    const remove = { name: 'Remove package.json' }
    await main.getByRole('button', remove).waitFor()
    const text = { items: [{ mimeType: 'text/plain', data: 'dragged on board' }] }
    await (await dragOver(devtools, composer(ana, 'ladder'), text)).drop()
    await expect.poll(() => composer(ana, 'ladder').inputValue()).toBe('dragged on board')
    await composer(ana, 'ladder').press('Enter')
    await article(ana, 'dragged on board').getByRole('link', { name: 'package.json' }).waitFor()

    await act(ana, 'dragged on board', 'Reply in thread')
    const thread = ana.getByRole('complementary', { name: 'Thread' })
    const reply = thread.getByRole('textbox', { name: 'Reply' })
    await (await dragOver(devtools, reply, file)).drop()
    await thread.getByRole('button', remove).waitFor()
    expect(await main.getByRole('button', remove).count()).toBe(0)
    await reply.fill('here too')
    await reply.press('Enter')
    await thread
      .getByRole('article')
      .filter({ hasText: 'here too' })
      .getByRole('link', { name: 'package.json' })
      .waitFor()

    await ana.evaluate(() =>
      addEventListener('dragover', ({ defaultPrevented, dataTransfer }) => {
        document.documentElement.dataset.drag = `${defaultPrevented} ${dataTransfer!.dropEffect}`
      }),
    )
    await dragOver(devtools, channels(ana), file)
    await ana.locator('[data-drag="true none"]').waitFor()
  })

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

  test('a file that is uploaded after Enter does not take the focus from what the person types meanwhile', async () => {
    const amy = await signIn('amy', '/', { withoutWorker: true })
    await createChannel(amy, 'cargo')
    await say(amy, 'cargo', 'first crate')
    const held = Promise.withResolvers<Route>()
    await amy.route('**/files/binary*', held.resolve)
    const file = { name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('crates') }
    await amy.locator('main input[type=file]').setInputFiles(file)
    await composer(amy, 'cargo').fill('the list')
    await composer(amy, 'cargo').press('Enter')
    const route = await held.promise
    await act(amy, 'first crate', 'Reply in thread')
    const reply = amy.getByRole('textbox', { name: 'Reply' })
    await reply.pressSequentially('only for ')
    await route.continue()
    await article(amy, 'the list').getByRole('link', { name: 'list.txt' }).waitFor()
    await amy.keyboard.type('this thread')
    expect(await reply.inputValue()).toBe('only for this thread')
  })

  test('an image that is too large is refused without an upload', async () => {
    const ivo = await signIn('ivo', '/', { withoutWorker: true })
    await createChannel(ivo, 'panorama')
    const uploads: string[] = []
    ivo.on('request', (request) => void (/\/messages\/image$/.test(request.url()) && uploads.push(request.url())))
    const image = (name: string, bytes: Buffer) =>
      ivo.locator('main input[type=file]').setInputFiles({ name, mimeType: 'image/png', buffer: bytes })
    await image('harbour.png', Buffer.alloc(limits.image + 1))
    await ivo.getByText('An image has at most 10 MB').waitFor()
    expect(uploads).toEqual([])
    await image('wharf.png', Buffer.alloc(1))
    await expect.poll(() => uploads.length).toBe(1)
  })

  test('saving an emptied message asks whether to delete it', async () => {
    const oda = await signIn('oda')
    await createChannel(oda, 'blank log')
    await say(oda, 'blank log', 'never mind')
    await isStored(oda, 'never mind')
    const box = composer(oda, 'blank log')
    const edit = oda.getByRole('textbox', { name: 'Edit message' })
    const dialog = oda.getByRole('dialog', { name: 'Delete message' })
    const saveEmpty = async () => {
      await box.press('ArrowUp')
      await edit.fill(' ')
      await edit.press('Enter')
      await dialog.waitFor()
    }
    await saveEmpty()
    await oda.keyboard.press('Escape')
    await hasFocus(box)
    await article(oda, 'never mind').waitFor()
    await saveEmpty()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await article(oda, 'never mind').waitFor({ state: 'detached' })
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
    await thread.getByRole('article').first().focus()
    await uma.keyboard.type('here')
    expect(await thread.getByRole('textbox', { name: 'Reply' }).inputValue()).toBe('here')
    await blur()
    await uma.keyboard.type('?')
    await uma.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await box.inputValue()).toBe('abc')
  })

  test('ArrowUp edits the newest own message, also when it is far above', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'long watch' })
    const avi = await signIn('avi', `/c/${channel.id}`)
    await avi.getByRole('button', { name: 'Join channel' }).click()
    await say(avi, 'long watch', 'my only words')
    await isStored(avi, 'my only words')
    for (let n = 0; n < 40; n++) await eve.says(`hour ${n}. ${'nothing in sight '.repeat(20)}`, channel)
    await article(avi, 'hour 39.').waitFor()
    await composer(avi, 'long watch').press('ArrowUp')
    const edit = avi.getByRole('textbox', { name: 'Edit message' })
    await hasFocus(edit)
    expect(await edit.inputValue()).toBe('my only words')
    await avi.keyboard.press('Escape')
    await hasFocus(composer(avi, 'long watch'))
  })

  test('ArrowUp edits the message that is still being sent once the server has it, unless the person writes meanwhile', async () => {
    const ute = await signIn('ute', '/', { withoutWorker: true })
    await createChannel(ute, 'bosun')
    await say(ute, 'bosun', 'the one before')
    await isStored(ute, 'the one before')
    const held: Route[] = []
    await ute.route('**/channels/*/messages', (route) =>
      route.request().method() === 'POST' ? void held.push(route) : route.continue(),
    )
    const letGo = async (text: string) => {
      await expect.poll(() => held.length).toBe(1)
      await held.pop()!.continue()
      await isStored(ute, text)
    }
    const box = composer(ute, 'bosun')
    const edit = ute.getByRole('textbox', { name: 'Edit message' })
    await say(ute, 'bosun', 'the last oen')
    await box.press('ArrowUp')
    expect(await edit.count()).toBe(0)
    await letGo('the last oen')
    await hasFocus(edit)
    expect(await edit.inputValue()).toBe('the last oen')
    await edit.press('Escape')
    await hasFocus(box)

    await say(ute, 'bosun', 'aye')
    await box.press('ArrowUp')
    await box.pressSequentially('and')
    await letGo('aye')
    await hasFocus(box)
    expect([await box.inputValue(), await edit.count()]).toEqual(['and', 0])
  })

  test('after an edit that a button has begun, the focus is on the message', async () => {
    const ulla = await signIn('ulla')
    await createChannel(ulla, 'fore peak')
    await say(ulla, 'fore peak', 'the hatch is shut')
    await isStored(ulla, 'the hatch is shut')
    const edit = ulla.getByRole('textbox', { name: 'Edit message' })
    for (const key of ['Escape', 'Enter']) {
      await act(ulla, 'the hatch is', 'Edit')
      await edit.fill(`the hatch is open, said ${key}`)
      await edit.press(key)
      await edit.waitFor({ state: 'detached' })
      await hasFocus(article(ulla, 'the hatch is'))
    }
  })

  test('an open editor stays while the person reads far away from it', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'dog watch' })
    const ugo = await signIn('ugo', `/c/${channel.id}`)
    for (let n = 1; n <= 60; n++) await eve.says(`bell ${n}. ${'nothing in sight '.repeat(20)}`, channel)
    await ugo.getByRole('button', { name: 'Join channel' }).click()
    await say(ugo, 'dog watch', 'I see a ligth')
    await isStored(ugo, 'I see a ligth')
    const edit = ugo.getByRole('textbox', { name: 'Edit message' })
    for (const begin of [() => act(ugo, 'I see a ligth', 'Edit'), () => composer(ugo, 'dog watch').press('ArrowUp')]) {
      await begin()
      await edit.fill('I see a light')
      await article(ugo, 'bell 60.').locator('.text').click()
      await hasFocus(article(ugo, 'bell 60.'))
      await ugo.getByRole('feed').hover()
      await ugo.mouse.wheel(0, -10_000)
      await article(ugo, /bell 1?\d\./)
        .first()
        .waitFor()
      await ugo.getByRole('button', { name: 'Jump to newest' }).click()
      await article(ugo, 'bell 60.').waitFor()
      expect(await edit.inputValue()).toBe('I see a light')
      await edit.press('Escape')
    }
  })

  test('a late response of an edit closes no other editor and takes no focus, and an unsaved text is kept', async () => {
    const aki = await signIn('aki', '/', { withoutWorker: true })
    for (const name of ['harbour master', 'pilot']) await createChannel(aki, name)
    await say(aki, 'pilot', 'one')
    await say(aki, 'pilot', 'two')
    // ArrowUp edits the newest message that the server has.
    await isStored(aki, 'two')
    const held: Route[] = []
    await aki.route('**/messages/*', (route) =>
      route.request().method() === 'PUT' ? void held.push(route) : route.continue(),
    )
    const edit = aki.getByRole('textbox', { name: 'Edit message' })
    const letGo = async () => {
      await expect.poll(() => held.length).toBe(1)
      const [route] = held.splice(0)
      const [response] = await Promise.all([
        aki.waitForResponse((each) => each.request() === route!.request()),
        route!.continue(),
      ])
      await response.finished()
      // What the page does with the response, it has done before this.
      await aki.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    }

    // The person cancels, and edits again.
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, first change')
    await edit.press('Enter')
    await edit.press('Escape')
    await edit.waitFor({ state: 'detached' })
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, second change')
    await letGo()
    expect(await edit.inputValue()).toBe('two, second change')
    await hasFocus(edit)

    // The person goes on in the text box of the channel.
    await edit.press('Enter')
    await composer(aki, 'pilot').click()
    await letGo()
    await edit.waitFor({ state: 'detached' })
    await article(aki, 'two, second change').waitFor()
    await hasFocus(composer(aki, 'pilot'))

    // The person opens another channel before the response.
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, third change')
    await edit.press('Enter')
    await openChannel(aki, 'harbour master')
    await letGo()
    await openChannel(aki, 'pilot')
    await article(aki, 'two, third change').waitFor()
    const elsewhere = await Person.signIn(site.baseUrl, 'aki@example.com')
    const [{ id }] = (await elsewhere.get(`/channels/${idOf(aki)}/messages`)).body.messages.slice(-1)
    await elsewhere.put(`/messages/${id}`, { content: 'two, changed elsewhere' })
    await article(aki, 'two, changed elsewhere').waitFor()
    await composer(aki, 'pilot').press('ArrowUp')
    expect(await edit.inputValue()).toBe('two, changed elsewhere')
    await edit.press('Escape')

    // Other shortcuts work in an editor. The text that was not saved is there again.
    await act(aki, 'one', 'Edit')
    await edit.fill('one, unsaved')
    await edit.press('Control+k')
    await aki.getByRole('dialog').getByRole('combobox').fill('harbour')
    await aki.keyboard.press('Enter')
    await aki.getByRole('heading', { level: 1, name: 'harbour master' }).waitFor()
    await openChannel(aki, 'pilot')
    await act(aki, 'one', 'Edit')
    expect(await edit.inputValue()).toBe('one, unsaved')
    await edit.press('Escape')
    await act(aki, 'one', 'Edit')
    expect(await edit.inputValue()).toBe('one')
  })

  test('a text that is too long stays in the text box until it is shortened', async () => {
    const kit = await signIn('kit')
    await createChannel(kit, 'ledger')
    const box = composer(kit, 'ledger')
    const text = '🚢'.repeat(16_001)
    await box.fill(text)
    await box.press('Enter')
    await kit.getByRole('alert').filter({ hasText: 'at most 16,000 characters' }).waitFor()
    expect(await box.inputValue()).toBe(text)
    await box.fill(text.slice(2))
    await box.press('Enter')
    await article(kit, '🚢').waitFor()
    expect(await box.inputValue()).toBe('')
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
    const id = idOf(bea)
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

  test('a message with files that are still being uploaded is sent after its channel was left, and after a lost connection', async () => {
    const gus = await signIn('gus', '/', { withoutWorker: true })
    for (const name of ['buoy', 'beacon']) await createChannel(gus, name)
    const held: Route[] = []
    await gus.route('**/files/binary*', (route) => void held.push(route))
    const box = composer(gus, 'beacon')
    const write = async (text: string) => {
      const file = { name: `${text}.txt`, mimeType: 'text/plain', buffer: Buffer.from(text) }
      await gus.locator('main input[type=file]').setInputFiles(file)
      await gus.getByRole('progressbar', { name: file.name }).waitFor()
      await box.fill(text)
    }
    const isWaiting = gus.getByText('The message is sent when the files are uploaded')
    const next = async () => {
      await expect.poll(() => held.length).toBe(1)
      return held.pop()!
    }
    const isSent = (text: string) => article(gus, text).getByRole('link', { name: `${text}.txt` })

    await write('flash')
    await box.press('Enter')
    await isWaiting.waitFor()
    await openChannel(gus, 'buoy')
    await (await next()).abort('connectionreset')
    const again = await next()
    const sent = gus.waitForResponse((response) => response.url().endsWith('/messages') && response.ok())
    await again.continue()
    await sent
    await openChannel(gus, 'beacon')
    await isSent('flash').waitFor()
    expect(await box.inputValue()).toBe('')

    // Whoever returns before the end sees it too, and it is sent once.
    await write('flare')
    await box.press('Enter')
    await openChannel(gus, 'buoy')
    await openChannel(gus, 'beacon')
    await isWaiting.waitFor()
    await (await next()).continue()
    await isSent('flare').waitFor()
    await isWaiting.waitFor({ state: 'detached' })
    expect(await box.inputValue()).toBe('')
    expect(await article(gus, 'flare').count()).toBe(1)
    // A page that always asks would not be kept for "back".
    expect(await asksBeforeLeaving(gus)).toBe(false)

    // The text is stored in the browser, and a file is not.
    await write('lamp')
    await box.press('Enter')
    const lost = await next()
    expect(await asksBeforeLeaving(gus)).toBe(true)
    gus.removeAllListeners('dialog')
    const asked = gus.waitForEvent('dialog')
    const reloaded = gus.reload()
    await (await asked).accept()
    await reloaded
    await lost.abort()
    await expect.poll(() => box.inputValue()).toBe('lamp')
    expect(await asksBeforeLeaving(gus)).toBe(false)
    expect(await gus.getByRole('button', { name: 'Remove lamp.txt' }).count()).toBe(0)
    await write('light')
    await next()
    const aborted = gus.waitForEvent('requestfailed', (request) => request.url().includes('/files/binary'))
    await gus.getByRole('button', { name: 'Account' }).click()
    await gus.getByRole('menuitem', { name: 'Sign out' }).click()
    await aborted
    await gus.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await asksBeforeLeaving(gus)).toBe(false)
  })

  test('the page asks before it is left as long as files are chosen, also after their upload', async () => {
    const gil = await signIn('gil')
    await createChannel(gil, 'hawse')
    const choose = async (name: string) => {
      const file = { name, mimeType: 'text/plain', buffer: Buffer.from('chain') }
      await gil.locator('main input[type=file]').setInputFiles(file)
      await gil.getByRole('button', { name: `Remove ${name}` }).waitFor()
      await gil.getByRole('progressbar', { name }).waitFor({ state: 'detached' })
    }
    await choose('list.txt')
    expect(await asksBeforeLeaving(gil)).toBe(true)
    await openChannel(gil, 'General')
    expect(await asksBeforeLeaving(gil)).toBe(true)
    await openChannel(gil, 'hawse')
    await gil.getByRole('button', { name: 'Remove list.txt' }).click()
    await expect.poll(() => asksBeforeLeaving(gil)).toBe(false)
    await choose('chain.txt')
    await say(gil, 'hawse', 'all of it')
    await article(gil, 'all of it').getByRole('link', { name: 'chain.txt' }).waitFor()
    expect(await asksBeforeLeaving(gil)).toBe(false)
  })
}
