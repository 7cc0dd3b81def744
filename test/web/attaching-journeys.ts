import path from 'node:path'
import { limits } from '@parley/contract'
import type { CDPSession, Locator, Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { root } from '../src/launch.ts'
import { png, whitePng } from './pictures.ts'
import type { Site } from './site.ts'
import { act, article, channels, composer, createChannel, openChannel, say } from './visitors.ts'

/** Whether the page asks the person before it is left. The browser itself asks only after the person has used the page. */
const asksBeforeLeaving = (page: Page) =>
  page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))

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

/** The files of a message before it is sent. */
export function attachingJourneys(site: Site) {
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

  test('a chosen image has a small square thumbnail until it is removed or sent, and an image that cannot be shown has none', async () => {
    const una = await signIn('una')
    await createChannel(una, 'easel')
    const chosen = (name: string) => una.getByRole('main').getByRole('listitem').filter({ hasText: name })
    const choose = (name: string, mimeType: string, buffer: Buffer) =>
      una.locator('main input[type=file]').setInputFiles({ name, mimeType, buffer })
    const addressOf = async (name: string) => (await chosen(name).locator('img').getAttribute('src'))!
    const isInMemory = (address: string) =>
      una.evaluate((src) => {
        const image = new Image()
        image.src = src
        return image.decode().then(
          () => true,
          () => false,
        )
      }, address)

    await choose('broken.png', 'image/png', Buffer.from('no picture at all'))
    // As a photo of 64 million pixels, it would take hundreds of megabytes of memory.
    await choose('wall.png', 'image/png', whitePng(8_000))
    await choose('notes.txt', 'text/plain', Buffer.from('no picture'))
    for (const name of ['tower.png', 'pier.png']) await choose(name, 'image/png', png(200, 600, [90, 60, 160]))
    for (const name of ['tower.png', 'pier.png']) {
      const thumbnail = chosen(name).locator('img')
      await thumbnail.waitFor()
      const { width, height } = (await thumbnail.boundingBox())!
      expect([name, width, await thumbnail.evaluate((image: HTMLImageElement) => image.naturalWidth < 200)]).toEqual([
        name,
        height,
        true,
      ])
      expect(await isInMemory(await addressOf(name))).toBe(true)
    }
    // The thumbnails are made one after the other.
    for (const name of ['broken.png', 'wall.png', 'notes.txt']) {
      expect([name, await chosen(name).locator('img').count()]).toEqual([name, 0])
      await chosen(name)
        .getByRole('button', { name: `Remove ${name}` })
        .click()
    }

    const removed = await addressOf('pier.png')
    await una.getByRole('button', { name: 'Remove pier.png' }).click()
    await expect.poll(() => isInMemory(removed)).toBe(false)
    const sent = await addressOf('tower.png')
    await composer(una, 'easel').fill('the tower')
    await composer(una, 'easel').press('Enter')
    await article(una, 'the tower').getByRole('button', { name: 'tower.png' }).waitFor()
    await expect.poll(() => isInMemory(sent)).toBe(false)
  })
}
