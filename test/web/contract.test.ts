import type { Page } from 'playwright-core'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import { appJourneys } from './app-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'
import {
  act,
  article,
  channels,
  composer,
  createChannel,
  hasFocus,
  isAccessible,
  openChannel,
  say,
} from './visitors.ts'

/** The roles, names and keys on which assistive technology and tools of people rely. */
describeSite('the web client by role and name', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  const { signIn } = site
  let eve: Person

  beforeAll(async () => {
    eve = await Person.signIn(site.baseUrl, 'eve@example.com')
  })

  const idOf = (page: Page) => new URL(page.url()).pathname.split('/')[2]!
  const main = (page: Page) => page.getByRole('main')

  test('a first view needs at most eight requests until it has the messages', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'ballast')
    await say(ann, 'ballast', 'well stowed')
    const cookies = await ann.context().cookies()
    // As in a browser that has only the session.
    const context = await ann
      .context()
      .browser()!
      .newContext({ storageState: { cookies, origins: [] } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(ann.url())
    await article(page, 'well stowed').waitFor()
    const until = asked.findIndex((path) => /^\/channels\/.+\/messages$/.test(path))
    expect(until).toBeGreaterThan(0)
    expect(asked.slice(0, until + 1).length, asked.join()).toBeLessThanOrEqual(8)
  })

  test('the page has landmarks, links and a top bar', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'deck')
    await hasFocus(composer(ann, 'deck'))
    const link = channels(ann).getByRole('link', { name: /^deck/ })
    expect(await link.getAttribute('aria-current')).toBe('page')
    for (const name of ['Create channel', 'Browse channels'])
      expect(await channels(ann).getByRole('button', { name }).count()).toBe(1)
    for (const name of ['Pinned messages', 'Channel settings']) {
      await main(ann).getByRole('button', { name }).click()
      await ann.getByRole('dialog', { name }).waitFor()
      await ann.keyboard.press('Escape')
      await ann.getByRole('dialog').waitFor({ state: 'detached' })
      await hasFocus(main(ann).getByRole('button', { name }))
    }
    const items = ['Profile', 'Sessions', 'Preferences', 'Keyboard shortcuts', 'Sign out']
    await ann.getByRole('button', { name: 'Account' }).click()
    for (const name of items) await ann.getByRole('menuitem', { name }).waitFor()
    expect(await ann.getByRole('menuitem', { name: 'Administration' }).count()).toBe(0)
    await ann.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
    await ann.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await ann.keyboard.press('Escape')
    await hasFocus(ann.getByRole('button', { name: 'Account' }))
  })

  test('preferences and profile can be changed', async () => {
    const ann = await signIn('ann', '/preferences')
    await ann.getByRole('combobox', { name: 'Theme' }).selectOption('Dark')
    expect(await ann.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await ann.getByRole('combobox', { name: 'Language' }).selectOption('العربية')
    await expect.poll(() => ann.evaluate(() => document.documentElement.dir)).toBe('rtl')
    await ann.getByRole('combobox', { name: 'اللغة' }).selectOption('English')
    await expect.poll(() => ann.evaluate(() => document.documentElement.lang)).toBe('en')

    const fay = await signIn('fay', '/profile')
    await fay.getByRole('textbox', { name: 'Name' }).fill('Fay of the Bay')
    await fay.getByRole('button', { name: 'Save' }).click()
    await fay.getByText('Saved', { exact: true }).waitFor()
    const square = await fay.screenshot({ clip: { x: 0, y: 0, width: 64, height: 64 } })
    await fay.getByLabel('Picture').last().setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: square })
    await fay.getByRole('button', { name: 'Remove picture' }).waitFor()
    await expect.poll(() => main(fay).locator('img[src^="blob:"]').count()).toBe(1)
  })

  test('a message has a name, a description, a time, and actions', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'bow')
    const bow = { id: idOf(ann) }
    const first = await eve.says('first of eve', bow)
    await say(ann, 'bow', 'second of ann')
    const feed = main(ann).getByRole('feed', { name: /bow/ })
    await expect.poll(() => feed.getAttribute('aria-busy')).toBe('false')
    const heard = feed.getByRole('article', { name: /eve.*\d:\d\d/ })
    const described = await heard.getAttribute('aria-describedby')
    expect(await ann.locator(`[id="${described}"]`).getAttribute('dir')).toBe('auto')
    const time = heard.getByRole('link').filter({ has: ann.locator('time[datetime]') })
    expect(await time.getAttribute('href')).toBe(`/c/${bow.id}/m/${first.id}`)

    await act(ann, 'first of eve', 'Pin')
    await main(ann).getByRole('button', { name: 'Pinned messages' }).click()
    await ann.getByRole('dialog', { name: 'Pinned messages' }).getByText('first of eve').waitFor()
    await ann.keyboard.press('Escape')
    await act(ann, 'first of eve', 'Unpin')
    await act(ann, 'first of eve', 'React')
    await ann.getByRole('dialog', { name: 'React' }).getByRole('searchbox').fill('rocket')
    await ann.keyboard.press('Enter')
    const reaction = article(ann, 'first of eve').getByRole('button', { name: '🚀 1' })
    expect(await reaction.getAttribute('aria-pressed')).toBe('true')
    await act(ann, 'first of eve', 'Quote')
    await say(ann, 'bow', 'about that')
    await article(ann, 'about that').getByRole('blockquote').getByText('first of eve').waitFor()

    await act(ann, 'second of ann', 'Edit')
    const edit = ann.getByRole('textbox', { name: 'Edit message' })
    await edit.fill('never mind')
    await edit.press('Escape')
    await article(ann, 'second of ann').waitFor()
  })

  test('a message of a webhook is marked as one of a bot', async () => {
    const admin = await signIn('admin', '/admin/webhooks')
    await admin.getByRole('button', { name: 'Create webhook' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Create webhook' })
    await dialog.getByLabel('Name').fill('builds')
    await dialog.getByLabel('Channel').selectOption('General')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue()
    const url = await dialog.getByRole('textbox', { name: 'URL' }).inputValue()
    await admin.keyboard.press('Escape')
    const row = admin.getByRole('row', { name: /builds/ })
    await row.getByRole('button', { name: 'New URL' }).click()
    const renewing = admin.getByRole('dialog', { name: 'New URL' })
    await renewing.getByRole('button', { name: 'Make a new URL' }).click()
    const newUrl = await renewing.getByRole('textbox', { name: 'URL' }).inputValue()
    const statusOf = async (hook: string) =>
      (await Person.nobody(site.baseUrl).post(new URL(hook).pathname, { text: 'hook' })).status
    expect([await statusOf(url), await statusOf(newUrl)]).toEqual([403, 200])
    await admin.keyboard.press('Escape')
    const { webhooks } = (await (await Person.signIn(site.baseUrl, 'admin@example.com')).get('/webhooks')).body
    const path = `/webhooks/${webhooks[0].id}/messages`
    const nobody = Person.nobody(site.baseUrl)
    expect((await nobody.post(path, { content: 'it builds' }, { authorization: `Bearer ${token}` })).status).toBe(200)
    await openChannel(admin, 'General')
    await main(admin)
      .getByRole('article', { name: /builds BOT/ })
      .filter({ hasText: 'it builds' })
      .waitFor()
  })

  test('code is highlighted, and a group is suggested and its mention is marked for its members', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'crew')
    const crew = { id: idOf(ann) }
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { id } = await Person.signIn(site.baseUrl, 'ann@example.com')
    for (const [handle, members] of [
      ['riggers', [id]],
      ['riders', []],
    ] as const) {
      const { status, body } = await admin.post('/groups', { handle, name: `All ${handle}`, members })
      expect(status).toBe(200)
      onTestFinished(async () => void (await admin.delete(`/groups/${body.group.id}`)))
    }
    await eve.says('```ts\nconst knots = "<b>" // three\n```', crew)
    await eve.says('@riggers and @riders', crew)
    const mention = (name: string) => article(ann, '@riggers and').locator('.mention', { hasText: name })
    await expect.poll(() => mention('@riggers').getAttribute('data-me')).toBe('true')
    expect(await mention('@riders').getAttribute('data-me')).toBeNull()
    const code = article(ann, 'knots').locator('code')
    await expect.poll(() => code.locator('.code-string').allTextContents()).toEqual(['"<b>"'])
    expect(await code.textContent()).toBe('const knots = "<b>" // three')
    await composer(ann, 'crew').pressSequentially('@rigg')
    await ann.getByRole('option', { name: '@riggers All riggers · 1 member' }).waitFor()
    await ann.keyboard.press('Tab')
    expect(await composer(ann, 'crew').inputValue()).toBe('@riggers ')
  })

  test('a block of code shows its new text after an edit', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'ropes')
    const { id } = await eve.says('```ts\nconst bowline = 1\n```', { id: idOf(ann) })
    const code = ann.getByRole('article').locator('code')
    await code.locator('.code-keyword').waitFor()
    await eve.put(`/messages/${id}`, { content: '```\nconst hitch = 2\n```' })
    await expect.poll(() => code.textContent()).toBe('const hitch = 2')
  })

  test('a first visit has no failing request', async () => {
    const page = await site.openPage()
    await page.getByRole('textbox', { name: 'Email' }).waitFor()
    const failed: string[] = []
    page.on('response', (response) => response.status() >= 400 && failed.push(response.url()))
    await page.reload()
    await page.getByRole('textbox', { name: 'Email' }).waitFor()
    expect(failed).toEqual([])
  })

  test('the composer has suggestions, several lines and files', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'galley')
    const box = composer(ann, 'galley')
    for (const [typed, option, taken] of [
      ['@ev', /@eve/, '@eve '],
      ['#Ge', /#General/, '#General '],
      [':rock', /:rock:/, '🪨 '],
    ] as const) {
      await box.fill('')
      await box.pressSequentially(typed)
      await ann.getByRole('listbox').getByRole('option', { name: option }).waitFor()
      expect(await box.getAttribute('aria-activedescendant')).not.toBeNull()
      if (typed !== ':rock') {
        await box.press('Tab')
        expect(await box.inputValue()).toBe(taken)
      } else {
        await box.press('Escape')
        await ann.getByRole('listbox').waitFor({ state: 'detached' })
      }
    }
    await box.fill('one')
    await box.press('Shift+Enter')
    await box.pressSequentially('two')
    await box.press('Enter')

    // Begins before the click, because the browser needs a moment to hand the choice to the test.
    const chosen = ann.waitForEvent('filechooser')
    await article(ann, /one\s*two/).waitFor()
    await main(ann).getByRole('button', { name: 'Attach files' }).click()
    expect(await (await chosen).element().evaluate((input) => (input as Element).ariaLabel)).toBe('Attach files')
    await main(ann)
      .getByLabel('Attach files')
      .setInputFiles([
        { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') },
        { name: 'b.png', mimeType: 'image/png', buffer: await ann.screenshot() },
      ])
    await ann.getByRole('button', { name: 'Remove a.txt' }).waitFor()
    await box.fill('with files')
    await main(ann).getByRole('button', { name: 'Send', exact: true }).click()
    await article(ann, 'with files')
      .getByRole('link', { name: /a\.txt/ })
      .waitFor()
    await article(ann, 'with files').getByRole('button', { name: 'b.png' }).click()
    await ann.getByRole('dialog', { name: 'b.png' }).getByRole('img', { name: 'b.png' }).waitFor()
    const download = ann.waitForEvent('download')
    await ann.getByRole('dialog', { name: 'b.png' }).getByRole('link', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('b.png')
    await ann.keyboard.press('Escape')
  })

  test('keys move between channels and between messages, open any channel, and return', async () => {
    const ann = await signIn('gil')
    for (const name of ['keel-a', 'keel-b']) await createChannel(ann, name)
    for (let n = 1; n <= 60; n++) await eve.says(`knot ${n}`, { id: idOf(ann) })
    await article(ann, /^.*knot 60$/).waitFor()
    await ann.keyboard.press('Alt+ArrowUp')
    await ann.getByRole('heading', { level: 1, name: 'keel-a' }).waitFor()
    await hasFocus(composer(ann, 'keel-a'))
    await ann.keyboard.press('Alt+ArrowDown')
    await hasFocus(composer(ann, 'keel-b'))

    await article(ann, /knot 60$/).focus()
    await ann.keyboard.press('ArrowUp')
    await hasFocus(article(ann, /knot 59$/))
    await ann.keyboard.press('PageUp')
    await hasFocus(article(ann, /knot 51$/))
    for (let n = 0; n < 6; n++) await ann.keyboard.press('PageUp')
    await expect.poll(() => ann.evaluate(() => document.activeElement?.tagName)).toBe('ARTICLE')
    await ann.getByRole('button', { name: 'Jump to newest' }).click()
    await article(ann, /knot 60$/).waitFor()
    await article(ann, /knot 60$/).focus()
    await ann.keyboard.press('Tab')
    expect(await ann.evaluate(() => document.activeElement?.closest('article')?.textContent)).toContain('knot 60')
    // The focus is visible on everything that can have it.
    expect(
      await article(ann, /knot 60$/)
        .locator('.visually-hidden :is(a, button)')
        .count(),
    ).toBe(0)

    await ann.keyboard.press('?')
    await ann.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await ann.keyboard.press('Escape')
    await ann.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor({ state: 'detached' })
    await ann.keyboard.press('Control+k')
    const switcher = ann.getByRole('dialog', { name: 'Switch to' })
    await switcher.getByRole('combobox').fill('eve')
    await switcher.getByRole('option', { name: /^eve/ }).waitFor()
    await ann.keyboard.press('Enter')
    await ann.getByRole('heading', { level: 1, name: 'eve' }).waitFor()
    await hasFocus(composer(ann, 'eve'))
    await ann.goBack()
    await ann.getByRole('heading', { level: 1, name: 'keel-b' }).waitFor()
  })

  test('addresses lead to a message, to a reply in its thread, and to an error when it does not exist', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'mast')
    const mast = { id: idOf(ann) }
    const old = await eve.says('the oldest', mast)
    for (let n = 1; n <= 120; n++) await eve.says(`later ${n}`, mast)
    const { body } = await eve.post(`/messages/${old.id}/thread`, { content: 'an answer' })
    await ann.goto(`${site.baseUrl}/c/${mast.id}/m/${old.id}`)
    await hasFocus(article(ann, 'the oldest'))
    await ann.getByRole('button', { name: 'Jump to newest' }).click()
    await article(ann, 'later 120').waitFor()
    expect(new URL(ann.url()).pathname).toBe(`/c/${mast.id}`)

    await ann.goto(`${site.baseUrl}/c/${mast.id}/m/${body.reply.id}`)
    const thread = ann.getByRole('complementary', { name: 'Thread' })
    await hasFocus(thread.getByRole('article').filter({ hasText: 'an answer' }))
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    await thread.waitFor({ state: 'detached' })
    await ann.goto(`${site.baseUrl}/c/${mast.id}/t/${old.id}`)
    await thread.getByText('an answer').waitFor()
    await hasFocus(thread.getByRole('textbox', { name: 'Reply' }))
    await ann.keyboard.press('Escape')
    await hasFocus(main(ann).getByRole('textbox', { name: /^Message/ }))
    await ann.goto(`${site.baseUrl}/c/nowhere`)
    await ann.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
  })

  test('an address without a page says so, and an incomplete one leads to its page', async () => {
    const page = await site.openPage('/nothing/here')
    const heading = page.getByRole('heading', { level: 1, name: 'There is no such page' })
    await heading.waitFor()
    expect(await page.title()).toBe('There is no such page – Parley')
    await isAccessible(page)
    await page.getByRole('link', { name: 'Back to Parley' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()

    const malformed = await site.openPage('/c/%')
    await malformed.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()

    const ann = await signIn('ann', '/profile/')
    await ann.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
    expect(new URL(ann.url()).pathname).toBe('/profile')
    // The service worker has the page by now, and must not send it for this address.
    await ann.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
    await ann.goto(`${site.baseUrl}/nowhere`)
    await ann.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
    await ann.getByRole('link', { name: 'Back to Parley' }).click()
    await ann.getByRole('button', { name: 'Account' }).waitFor()
    await expect.poll(() => ann.title()).not.toContain('There is no such page')
  })

  test('an unknown address below one of the API has the response of the API for every client', async () => {
    const addresses = ['/docs/x', '/channels/', '/auth/x', '/files/', '/health/x', '/scim/v2/x', '/slack/x', '/hooks/x']
    for (const address of addresses) {
      const [toBrowser, toProgram] = await Promise.all(
        ['text/html', 'application/json'].map(async (accept) => {
          const { status, headers } = await fetch(site.baseUrl + address, { headers: { accept } })
          return [status, headers.get('content-type')]
        }),
      )
      expect([address, toBrowser]).toEqual([address, toProgram])
      expect(toBrowser![1]).toContain('json')
    }
  })

  test('a public channel can be read without joining it, and posting joins it', async () => {
    const { body } = await eve.post('/channels', { name: 'open sea' })
    await eve.says('anybody there?', body.channel)
    const ann = await signIn('ann', `/c/${body.channel.id}`)
    await article(ann, 'anybody there?').waitFor()
    await main(ann).getByRole('button', { name: 'Join channel' }).waitFor()
    await say(ann, 'open sea', 'me')
    await main(ann).getByRole('button', { name: 'Join channel' }).waitFor({ state: 'detached' })
    await channels(ann).getByRole('link', { name: 'open sea' }).waitFor()
  })

  test('new messages are announced once, and history is not announced', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'crow nest')
    const nest = { id: idOf(ann) }
    await eve.says('before', nest)
    await article(ann, 'before').waitFor()
    // A message from before the stream is open is history.
    const streamIsOpen = ann.waitForResponse((response) => new URL(response.url()).pathname === '/events')
    await ann.reload()
    await article(ann, 'before').waitFor()
    await streamIsOpen
    const told = ann.locator('[aria-live=polite]')
    expect(await told.count()).toBe(1)
    expect(await told.textContent()).toBe('')
    await eve.says('land in sight', nest)
    await expect.poll(() => told.textContent()).toBe('eve: land in sight')
    await ann.context().setOffline(true)
    await ann.getByRole('status').filter({ hasText: 'Offline' }).waitFor()
    await ann.context().setOffline(false)
    await ann.getByRole('status').filter({ hasText: 'Offline' }).waitFor({ state: 'detached' })
  })

  test('on a narrow page the navigation is behind a button', async () => {
    const ann = await signIn('ann', '/', { viewport: { width: 390, height: 844 } })
    const button = ann.getByRole('button', { name: 'Navigation' })
    await button.click()
    await channels(ann).getByRole('link', { name: 'General' }).click()
    await composer(ann, 'General').waitFor()
    await channels(ann).waitFor({ state: 'hidden' })

    await button.click()
    expect(await button.getAttribute('aria-expanded')).toBe('true')
    await composer(ann, 'General').waitFor({ state: 'hidden' })
    await channels(ann).getByRole('link', { name: 'General' }).press('Escape')
    await channels(ann).waitFor({ state: 'hidden' })
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await ann.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  })

  test('the focus returns after an edit, and after a thread and a dialog that were opened with the buttons of a message', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'compass')
    await say(ann, 'compass', 'north')
    const box = composer(ann, 'compass')
    const focused = () =>
      ann.evaluate(`document.activeElement.getAttribute('aria-label') ?? document.activeElement.localName`)
    // Only a message that the server has can be edited. It has these buttons.
    await article(ann, 'north').hover()
    await article(ann, 'north').getByRole('button', { name: 'React' }).waitFor()
    for (const key of ['Escape', 'Enter']) {
      await box.press('ArrowUp')
      await ann.getByRole('textbox', { name: 'Edit message' }).press(key)
      await expect.poll(focused).toBe('Message compass')
    }
    const press = async (name: string) => {
      await article(ann, 'north').focus()
      await article(ann, 'north').getByRole('button', { name, exact: true }).press('Enter')
    }
    await press('React')
    await ann.getByRole('searchbox', { name: 'Search emoji' }).press('Escape')
    await expect.poll(focused).toMatch(/React|article/)
    await press('Reply in thread')
    await ann.getByRole('textbox', { name: 'Reply' }).press('Escape')
    await expect.poll(focused).toMatch(/Reply in thread|article/)
  })

  test('the focus returns from a thread that is closed before its first frame', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'quick look')
    await say(ann, 'quick look', 'north')
    await article(ann, 'north').hover()
    await article(ann, 'north').getByRole('button', { name: 'Reply in thread', exact: true }).focus()
    await ann.evaluate(openAndCloseThread)
    expect(await ann.getByRole('complementary', { name: 'Thread' }).count()).toBe(0)
    expect(await ann.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe('Reply in thread')
  })

  test('on a narrow page the head of a column is above its cells and covers no other column', async () => {
    await Person.signIn(site.baseUrl, 'ann@example.com')
    const ann = await signIn('ann', '/sessions', { viewport: { width: 390, height: 844 } })
    await ann.getByRole('button', { name: 'End session' }).first().waitFor()
    const edgesOf = (row: string) =>
      ann
        .locator(`${row}:first-child > *`)
        .evaluateAll((all) => all.map((each) => each.getBoundingClientRect()).map(({ left, right }) => [left, right]))
    const heads = await edgesOf('thead tr')
    expect(heads).toHaveLength(4)
    expect(heads).toEqual(await edgesOf('tbody tr'))
  })

  appJourneys(site)

  test('the administration has people, settings, the audit log and the export', async () => {
    const admin = await signIn('admin', '/admin/people')
    const navigation = admin.getByRole('navigation', { name: 'Administration' })
    await admin.getByRole('button', { name: 'Add person' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Add person' })
    await dialog.getByLabel('Email').fill('hal@example.com')
    await dialog.getByLabel('Role').selectOption('Admin')
    await dialog.getByLabel('Password').fill('correct horse battery')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    const hal = admin.getByRole('row', { name: /hal@example\.com/ })
    await expect.poll(() => hal.getByRole('combobox', { name: 'Role' }).inputValue()).toBe('admin')

    await navigation.getByRole('link', { name: 'Settings' }).click()
    await admin.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    await admin.getByLabel('Server name').fill('The Fleet')
    await admin.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => admin.title()).toContain('The Fleet')

    await navigation.getByRole('link', { name: 'Audit log' }).click()
    await admin
      .getByRole('row', { name: /admin.*user\.create/ })
      .first()
      .waitFor()
    await admin.getByLabel('Action').fill('settings.update')
    await admin.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => admin.getByRole('row', { name: /user\.create/ }).count()).toBe(0)

    await navigation.getByRole('link', { name: 'Export' }).click()
    await admin.getByRole('button', { name: 'Export' }).click()
    await admin.getByRole('progressbar').waitFor()
    const [download] = await Promise.all([
      admin.waitForEvent('download'),
      admin.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toContain('export')
    await navigation.getByRole('link', { name: 'Settings' }).click()
    await admin.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    await navigation.getByRole('link', { name: 'Export' }).click()
    await admin.getByRole('link', { name: 'Download' }).waitFor()
  })
})

/** In the page: presses the button that has the focus, and Escape as soon as the thread is rendered. No frame comes between. */
const openAndCloseThread = `(async () => {
  document.activeElement.click()
  const box = () => document.querySelector('.panel textarea')
  for (let turns = 0; !box() && turns < 100; turns++) await Promise.resolve()
  box().focus()
  box().dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
  for (let turns = 0; box() && turns < 100; turns++) await Promise.resolve()
})()`
