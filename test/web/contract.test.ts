import { beforeAll, expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { addressJourneys } from './address-journeys.ts'
import { appJourneys } from './app-journeys.ts'
import { messageJourneys } from './message-journeys.ts'
import { describeSite, mayCallThisMachine } from './site.ts'
import { article, channelIdOf, channels, composer, createChannel, hasFocus, main, say } from './visitors.ts'

/** The roles, names and keys on which assistive technology and tools of people rely. */
describeSite('the web client by role and name', { timeout: 120_000, launched: mayCallThisMachine }, (site) => {
  const { signIn } = site
  let eve: Person

  beforeAll(async () => {
    eve = await Person.signIn(site.baseUrl, 'eve@example.com')
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
    const sameAnn = await Person.signIn(site.baseUrl, 'ann@example.com')
    await expect.poll(async () => (await sameAnn.get('/users/me/notifications')).body.mailLanguage).toBe('ar')
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

  test('keys move between channels and between messages, open any channel, and return', async () => {
    const ann = await signIn('gil')
    for (const name of ['keel-a', 'keel-b']) await createChannel(ann, name)
    for (let n = 1; n <= 60; n++) await eve.says(`knot ${n}`, { id: channelIdOf(ann) })
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

  test('new messages are announced once, and history is not announced', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'crow nest')
    const nest = { id: channelIdOf(ann) }
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

  messageJourneys(site)
  addressJourneys(site)
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
