import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { whitePng } from './pictures.ts'
import type { Site } from './site.ts'
import {
  article,
  channelIdOf,
  channels,
  composer,
  createChannel,
  isAccessible,
  main,
  openChannel,
  refuseMessages,
} from './visitors.ts'

/** What somebody hears who does not see the page: names, descriptions, and what is said without being asked. */
export function heardJourneys(site: Site) {
  const { signIn } = site
  const announced = (page: Page) => page.locator('[aria-live=polite]')
  const status = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text })
  /** Chooses files with the button by the text box. */
  async function attach(page: Page, ...names: string[]) {
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Attach files' }).press('Enter')
    const files = names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('all well') }))
    await (await chooser).setFiles(files)
  }

  test('a new message is announced without the characters of its markup, and with the names of its files', async () => {
    const page = await signIn('otis')
    await createChannel(page, 'boatswain')
    const boatswain = { id: channelIdOf(page) }
    const opal = await Person.signIn(site.baseUrl, 'opal@example.com')
    // Only what comes through the stream is announced.
    await expect
      .poll(() =>
        page
          .getByRole('status')
          .filter({ hasText: /Connecting|Reconnecting/ })
          .count(),
      )
      .toBe(0)
    await opal.says('> why?\n*Please* read [the chart](https://example.com/a/long/address), `now`, @otis', boatswain)
    await expect.poll(() => announced(page).textContent()).toBe('opal: why?\nPlease read the chart, now, @otis')
    const file = await opal.uploads('soundings.csv', 'depth,12')
    const image = await opal.uploadsImage(`/channels/${boatswain.id}/messages`, 'chart.png', whitePng(40))
    await opal.sends(boatswain, { attachments: [file], images: [image] })
    await expect.poll(() => announced(page).textContent()).toBe('opal: chart.png\nsoundings.csv')
  })

  test('a person who moves from message to message hears where the day and the unread messages begin, and which files a message has', async () => {
    const page = await signIn('orla')
    await createChannel(page, 'stern')
    const stern = { id: channelIdOf(page) }
    const odin = await Person.signIn(site.baseUrl, 'odin@example.com')
    await odin.says('already read', stern)
    await article(page, 'already read').waitFor()
    await channels(page).getByRole('link', { name: 'General' }).click()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await odin.says('not read yet', stern)
    const file = await odin.uploads('stores.csv', 'rope,3')
    await odin.sends(stern, { attachments: [file] })
    await openChannel(page, 'stern')
    const feed = main(page).getByRole('feed')
    await feed
      .getByRole('article', { name: /^odin \d\d:\d\d Today$/ })
      .getByText('already read')
      .waitFor()
    await feed
      .getByRole('article', { name: /^odin \d\d:\d\d New messages$/ })
      .getByText('not read yet')
      .waitFor()
    const last = feed.getByRole('article').last()
    await last.getByRole('link', { name: 'stores.csv' }).waitFor()
    const described = await last.getAttribute('aria-describedby')
    expect(await page.locator(`[id="${described}"]`).textContent()).toContain('stores.csv')
  })

  test('a message that could not be sent is announced, once', async () => {
    const page = await signIn('oralie', '/', { withoutWorker: true })
    await createChannel(page, 'davit')
    await refuseMessages(page)
    await composer(page, 'davit').fill('lower the boat')
    await composer(page, 'davit').press('Enter')
    await expect.poll(() => announced(page).textContent()).toBe('The message could not be sent. Not today')
    await openChannel(page, 'General')
    await openChannel(page, 'davit')
    await article(page, 'Not sent').waitFor()
    const oswin = await Person.signIn(site.baseUrl, 'oswin@example.com')
    await oswin.says('no boat', { id: channelIdOf(page) })
    await expect.poll(() => announced(page).textContent()).toBe('oswin: no boat')
  })

  test('the number of emoji that a search finds is said', async () => {
    const page = await signIn('olga')
    await createChannel(page, 'winch')
    await page.getByRole('button', { name: 'Emoji', exact: true }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Emoji' })
    await dialog.getByRole('searchbox').pressSequentially('anchor')
    await dialog.getByRole('status').filter({ hasText: 'Shown results: 2' }).waitFor()
    await dialog.getByRole('searchbox').pressSequentially('zzz')
    await dialog.getByRole('status').filter({ hasText: 'Nothing was found' }).waitFor()
  })

  test('a file is said to be attached, and a refused one is named', async () => {
    const page = await signIn('omar')
    await createChannel(page, 'tiller')
    await attach(page, 'course.txt', 'course.exe')
    await expect.poll(() => announced(page).textContent()).toBe('The file is attached')
    await main(page)
      .getByRole('alert')
      .filter({ hasText: /^course\.exe.*The filename must end in/ })
      .waitFor()
  })

  test('who was added to a channel or removed from it is said', async () => {
    const page = await signIn('oskar')
    await createChannel(page, 'galley')
    await Person.signIn(site.baseUrl, 'ottilie@example.com')
    await page.getByRole('button', { name: 'Channel settings' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Channel settings' })
    await dialog.getByRole('button', { name: 'Add a member' }).press('Enter')
    await dialog.getByRole('combobox', { name: 'Person' }).fill('ottilie')
    await dialog.getByRole('option', { name: /^ottilie/ }).waitFor()
    await page.keyboard.press('Enter')
    await status(page, 'The person was added').waitFor()
    await dialog.getByRole('button', { name: 'Remove ottilie' }).press('Enter')
    await status(page, 'The person was removed').waitFor()
  })

  test('a message that is removed from the saved ones is said to be removed', async () => {
    const page = await signIn('oona')
    await createChannel(page, 'locker')
    const oona = await Person.signIn(site.baseUrl, 'oona@example.com')
    const { id } = await oona.says('keep this', { id: channelIdOf(page) })
    await oona.put(`/messages/${id}/saved`, { isSaved: true })
    await page.getByRole('link', { name: 'Saved messages' }).press('Enter')
    await page.getByRole('button', { name: 'Remove from saved' }).press('Enter')
    await expect.poll(() => announced(page).textContent()).toBe('Message removed from saved')
  })

  test('an added person is told, and a field for a role tells whose role it is', async () => {
    const page = await signIn('admin', '/admin/people')
    await page.getByRole('button', { name: 'Add person' }).press('Enter')
    await page.getByRole('dialog', { name: 'Add person' }).getByLabel('Email').fill('orrin@example.com')
    await page.keyboard.press('Enter')
    await status(page, 'The person was added').waitFor()
    const role = page.getByRole('row', { name: /^orrin/ }).getByRole('combobox', { name: 'Role' })
    const described = await role.getAttribute('aria-describedby')
    expect(await page.locator(`[id="${described}"]`).textContent()).toBe('orrin')
    expect(await page.getByRole('region', { name: 'Table' }).count()).toBe(1)
  })

  test('a refused field is told to be invalid, with the error, until it is changed or sent again', async () => {
    const page = await signIn('osric')
    await createChannel(page, 'capstan')
    await page.getByRole('button', { name: 'Create channel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create channel' })
    const name = dialog.getByRole('textbox', { name: 'Name' })
    const invalid = dialog.locator('[aria-invalid=true]')
    const describe = () =>
      name.evaluate((field) => field.ariaDescribedByElements?.map((each) => each.textContent) ?? [])
    await name.fill('capstan')
    await dialog.getByRole('textbox', { name: 'Topic' }).fill('what turns')
    await name.press('Enter')
    await expect.poll(() => invalid.count()).toBe(1)
    expect(await name.getAttribute('aria-invalid')).toBe('true')
    expect(await describe()).toEqual(['There is already a channel with this name'])
    await isAccessible(page)
    await name.fill('')
    expect(await invalid.count()).toBe(0)
    expect(await describe()).toEqual([])
    await name.press('Enter')
    await expect.poll(describe).toEqual(['The name must not be empty'])
    await name.pressSequentially('windlass')
    await name.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'windlass' }).waitFor()
  })

  test('buttons that a list has several times say what they belong to, and unpinning is told', async () => {
    const page = await signIn('oriel')
    await createChannel(page, 'noticeboard')
    const oriel = await Person.signIn(site.baseUrl, 'oriel@example.com')
    const board = { id: channelIdOf(page) }
    for (const text of ['mind the step', 'mind the door']) {
      const { id } = await oriel.says(text, board)
      await oriel.post(`/messages/${id}/pin`)
      await oriel.put(`/messages/${id}/saved`, { isSaved: true })
    }
    await oriel.post('/auth/tokens', { name: 'clock', scopes: ['read'] })
    const describedBy = (button: Locator) =>
      button.evaluateAll((all) =>
        all.map((each) => each.ariaDescribedByElements?.map(({ textContent }) => textContent).join(' ') ?? ''),
      )
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pinned messages' })
    const unpin = dialog.getByRole('button', { name: 'Unpin' })
    await expect
      .poll(() => describedBy(unpin))
      .toEqual([/oriel .*mind the door/, /oriel .*mind the step/].map(matching))
    await isAccessible(page)
    await unpin.first().press('Enter')
    await dialog.getByRole('status').filter({ hasText: 'Message unpinned' }).waitFor()
    await page.keyboard.press('Escape')

    await page.goto(`${site.baseUrl}/saved`)
    const remove = page.getByRole('button', { name: 'Remove from saved' })
    await expect
      .poll(() => describedBy(remove))
      .toEqual([/oriel .*mind the door/, /oriel .*mind the step/].map(matching))
    await page.goto(`${site.baseUrl}/sessions`)
    await expect.poll(() => describedBy(page.getByRole('button', { name: 'End session' }))).toEqual([matching(/127/)])
    await page.goto(`${site.baseUrl}/tokens`)
    await expect.poll(() => describedBy(page.getByRole('button', { name: 'Revoke' }))).toEqual(['clock'])
  })
}

const matching = (pattern: RegExp) => expect.stringMatching(pattern)
