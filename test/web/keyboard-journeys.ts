import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { whitePng } from './pictures.ts'
import type { Site } from './site.ts'
import {
  article,
  channels,
  composer,
  createChannel,
  hasFocus,
  isAccessible,
  openChannel,
  say,
  untilDrawn,
} from './visitors.ts'

/** The focus, and the keys of the whole page. */
export function keyboardJourneys(site: Site) {
  const { signIn } = site

  test('a person who types a search while the first channel opens keeps the focus', async () => {
    const page = await site.openPage('/', { withoutWorker: true })
    const opens = Promise.withResolvers<void>()
    await page.route(/\/channels\?/, async (route) => {
      await opens.promise
      await route.continue()
    })
    await page.getByLabel('Email').fill('quick@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('searchbox', { name: 'Search', exact: true }).pressSequentially('lan')
    opens.resolve()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    // The text box takes the focus after the first paint.
    await untilDrawn(page)
    await page.keyboard.type('tern')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/search?q=lantern')
  })

  test('a menu keeps the focus while the first channel opens', async () => {
    const page = await site.openPage('/', { withoutWorker: true })
    const opens = Promise.withResolvers<void>()
    await page.route(/\/channels\?/, async (route) => {
      await opens.promise
      await route.continue()
    })
    await page.getByLabel('Email').fill('brisk@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).press('Enter')
    const item = page.getByRole('menuitem', { name: 'Profile' })
    await hasFocus(item)
    opens.resolve()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    // The text box takes the focus after the first paint.
    await untilDrawn(page)
    await hasFocus(item)
  })

  test('a person types on after Escape has closed a dialog', async () => {
    const page = await signIn('uwe')
    await createChannel(page, 'hawser')
    const box = composer(page, 'hawser')
    const dialog = page.getByRole('dialog', { name: 'Switch to' })
    // On a slow machine, Chromium often returned the focus with the caret that the text box had before the last letter.
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    for (const typed of ['a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef', 'abcdefg', 'abcdefgh']) {
      await page.keyboard.press('Control+k')
      await dialog.getByRole('option').first().waitFor()
      await untilDrawn(page)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await hasFocus(box)
      await page.keyboard.type(typed.at(-1)!)
      expect(await box.inputValue()).toBe(typed)
    }
  })

  test('the text box gets the focus when a person chooses the channel that is open already, also on a narrow page', async () => {
    const page = await signIn('wanda')
    await createChannel(page, 'lighthouse')
    const link = channels(page).getByRole('link', { name: 'lighthouse' })
    const box = composer(page, 'lighthouse')
    await link.press('Enter')
    await hasFocus(box)
    await page.setViewportSize({ width: 390, height: 800 })
    await page.getByRole('button', { name: 'Navigation' }).press('Enter')
    await link.click()
    await hasFocus(box)
  })

  test.each([
    ['begins to type a search', 'beacon', 'swift'],
    ['goes to the search', '', 'nimble'],
  ])(
    'a person keeps the focus who %s when the text box of the first channel has just appeared',
    async (_, typed, name) => {
      const page = await site.openPage('/', { withoutWorker: true })
      // The text box has appeared, and takes the focus after the next paint.
      await page.addInitScript((text) => {
        new MutationObserver((_, observer) => {
          const field = document.querySelector<HTMLInputElement>('.search input')
          if (!field || !document.querySelector('.main > .composer textarea')) return
          observer.disconnect()
          field.value = text
          field.focus()
        }).observe(document, { subtree: true, childList: true })
      }, typed)
      await page.reload()
      await page.getByLabel('Email').fill(`${name}@example.com`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
      await untilDrawn(page)
      await page.keyboard.type('beacon'.slice(typed.length))
      await page.keyboard.press('Enter')
      await page.waitForURL('**/search?q=beacon')
    },
  )

  test('the focus of a person with a keyboard stays while their picture is changed and after it is removed', async () => {
    const page = await signIn('ines', '/profile')
    // Begins before the key is pressed, because the browser needs a moment to hand the choice to the test.
    const chooser = page.waitForEvent('filechooser')
    const change = page.getByRole('button', { name: 'Change picture' })
    // The heading of a page gets the focus when the page has opened.
    await hasFocus(page.getByRole('heading', { level: 1 }))
    await change.focus()
    await page.keyboard.press('Enter')
    await (await chooser).setFiles({ name: 'me.png', mimeType: 'image/png', buffer: whitePng(40) })
    const remove = page.getByRole('button', { name: 'Remove picture' })
    await remove.waitFor()
    await hasFocus(change)
    await page.keyboard.press('Tab')
    await hasFocus(remove)
    await page.keyboard.press('Enter')
    await remove.waitFor({ state: 'detached' })
    await hasFocus(change)
  })

  test('the focus of a person with a keyboard stays near a button that its press has removed', async () => {
    const flo = await signIn('flo', '/', { withoutWorker: true })
    await createChannel(flo, 'anchorage')
    await say(flo, 'anchorage', 'slow down')
    await say(flo, 'anchorage', 'drop anchor')
    const message = article(flo, 'drop anchor')
    await message.getByRole('link').waitFor({ state: 'attached' })
    // The keyboard moved the focus, so the browser shows it.
    await flo.keyboard.press('Shift+Tab')
    await message.focus()
    const quick = message.getByRole('button', { name: 'Respond with +1' })
    await quick.press('Enter')
    await quick.waitFor({ state: 'detached' })
    await hasFocus(message)
    const reaction = message.getByRole('button', { name: /👍.* 1/ })
    await reaction.press('Enter')
    await reaction.waitFor({ state: 'detached' })
    await hasFocus(message)

    await message.getByRole('button', { name: 'More actions' }).press('Enter')
    await flo.getByRole('menuitem', { name: 'Delete' }).press('Enter')
    await flo.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).press('Enter')
    const undo = flo.getByRole('button', { name: 'Undo' })
    await hasFocus(undo)
    await undo.press('Enter')
    await undo.waitFor({ state: 'detached' })
    await hasFocus(article(flo, 'slow down'))

    const gil = await Person.signIn(site.baseUrl, 'gil@example.com')
    const open = await gil.creates({ name: 'open roads' })
    await flo.goto(`${site.baseUrl}/c/${open.id}`)
    const join = flo.getByRole('button', { name: 'Join channel' })
    let joins = 0
    await flo.route('**/join', (route) =>
      ++joins === 1 ? route.fulfill({ status: 403, json: { error: 'Not yet' } }) : route.continue(),
    )
    await join.press('Enter')
    const problem = flo.getByRole('alert').filter({ hasText: 'Not yet' })
    await problem.getByRole('button', { name: 'Close' }).press('Enter')
    await problem.waitFor({ state: 'detached' })
    await hasFocus(composer(flo, 'open roads'))
    await join.press('Enter')
    await join.waitFor({ state: 'detached' })
    await hasFocus(composer(flo, 'open roads'))
  })

  test('the focus stays in a dialog whose form is replaced by its result', async () => {
    const admin = await signIn('admin', '/admin/scim')
    await admin.getByRole('button', { name: 'Create SCIM client' }).press('Enter')
    const dialog = admin.getByRole('dialog', { name: 'Create SCIM client' })
    await dialog.getByLabel('Name').fill('Harbour office')
    await admin.keyboard.press('Tab')
    await admin.keyboard.press('Enter')
    await dialog.getByRole('textbox').first().waitFor()
    await dialog.getByRole('button', { name: 'Create' }).waitFor({ state: 'detached' })
    await hasFocus(dialog.getByRole('button', { name: 'Close' }))
  })

  test('after the last "Show more" the focus is on the control before the new results', async () => {
    const ben = await Person.signIn(site.baseUrl, 'ben@example.com')
    const shoal = await ben.creates({ name: 'shoal' })
    for (let n = 1; n <= 31; n++) await ben.says(`herring ${n}.`, shoal)
    const page = await signIn('hedda', '/search?q=herring')
    const found = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    await expect.poll(() => found.count()).toBe(30)
    await page.keyboard.press('Tab')
    const more = page.getByRole('button', { name: 'Show more' })
    await more.press('Enter')
    await more.waitFor({ state: 'detached' })
    const inFocus = () => page.evaluate(() => document.activeElement?.closest('article')?.textContent)
    await expect.poll(inFocus).toContain('herring 2.')
  })

  test('Alt with an arrow key opens the first or the last channel from a page that is not a channel', async () => {
    const alma = await Person.signIn(site.baseUrl, 'alma@example.com')
    for (const name of ['aft first', 'aft second']) await alma.creates({ name })
    const page = await signIn('alma', '/preferences')
    await channels(page).getByRole('link', { name: 'General' }).waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'aft first' }).waitFor()
    await page.goBack()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Preferences' }).waitFor()
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'aft first' }).waitFor()
  })

  test('Alt with an arrow key changes no channel in a choice of the browser or below a dialog', async () => {
    const page = await signIn('alva', '/preferences')
    await channels(page).getByRole('link', { name: 'General' }).waitFor()
    const theme = page.getByRole('combobox', { name: 'Theme' })
    await theme.press('Alt+ArrowDown')
    expect(new URL(page.url()).pathname).toBe('/preferences')
    await page.keyboard.press('Escape')
    await createChannel(page, 'alcove')
    const address = page.url()
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const pins = page.getByRole('dialog', { name: 'Pinned messages' })
    await pins.waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    expect(page.url()).toBe(address)
    await page.keyboard.press('Escape')
    await pins.waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+ArrowUp')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
  })

  test('Shift with Alt and an arrow key opens the next channel with unread messages, and a slash goes to the search', async () => {
    const rosa = await signIn('rosa')
    for (const name of ['unread-a', 'unread-b', 'unread-c']) await createChannel(rosa, name)
    const sam = await Person.signIn(site.baseUrl, 'sam@example.com')
    await openChannel(rosa, 'unread-a')
    const { channels: all } = (await sam.get('/channels?q=unread-c')).body
    await sam.says('anybody here?', all[0])
    await channels(rosa)
      .getByRole('link', { name: /^unread-c.*1 unread/ })
      .waitFor()
    await rosa.keyboard.press('Alt+Shift+ArrowDown')
    await rosa.getByRole('heading', { level: 1, name: 'unread-c' }).waitFor()
    await channels(rosa)
      .getByRole('link', { name: /^unread-c$/ })
      .waitFor()
    await rosa.keyboard.press('Alt+Shift+ArrowUp')
    await composer(rosa, 'unread-c').press('/')
    expect(await composer(rosa, 'unread-c').inputValue()).toBe('/')
    await article(rosa, 'anybody here?').focus()
    await rosa.keyboard.press('/')
    const field = rosa.getByRole('searchbox', { name: 'Search', exact: true })
    await hasFocus(field)
    expect(await field.inputValue()).toBe('')
  })

  test('shortcuts of a single character can be switched off, because speech input presses them by mistake', async () => {
    const uma = await signIn('uma')
    await createChannel(uma, 'dictation')
    await say(uma, 'dictation', 'and or')
    const address = uma.url()
    await uma.goto(`${site.baseUrl}/preferences`)
    await uma.getByRole('checkbox', { name: 'Shortcuts of a single character' }).uncheck()
    await isAccessible(uma)
    await uma.goto(address)
    const value = () => composer(uma, 'dictation').inputValue()
    // The part of the page that gives the text box the focus is loaded after the first view.
    await expect
      .poll(async () => {
        await article(uma, 'and or').focus()
        if ((await value()) === '') await uma.keyboard.press('/')
        return value()
      })
      .toBe('/')
    await article(uma, 'and or').focus()
    await uma.keyboard.press('?')
    await expect.poll(value).toBe('/?')
    await uma.keyboard.press('Control+/')
    const list = uma.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.getByRole('row', { name: /^Show this list/ }).waitFor()
    expect(await list.getByRole('row', { name: /^Search/ }).count()).toBe(0)
  })
}
