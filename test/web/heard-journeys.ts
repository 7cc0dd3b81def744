import type { Page } from 'playwright-core'
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
  main,
  openChannel,
  refuseMessages,
} from './visitors.ts'

/** What somebody hears who does not see the page: names, descriptions, and what is said without being asked. */
export function heardJourneys(site: Site) {
  const { signIn } = site
  const announced = (page: Page) => page.locator('[aria-live=polite]')
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
    await expect.poll(() => announced(page).textContent()).toBe('Not sent. Not today')
    await openChannel(page, 'General')
    await openChannel(page, 'davit')
    await article(page, 'Not sent').waitFor()
    const oswin = await Person.signIn(site.baseUrl, 'oswin@example.com')
    await oswin.says('no boat', { id: channelIdOf(page) })
    await expect.poll(() => announced(page).textContent()).toBe('oswin: no boat')
  })

  test('a file is said to be attached, and a refused one is named', async () => {
    const page = await signIn('omar')
    await createChannel(page, 'tiller')
    await attach(page, 'course.txt', 'course.exe')
    await expect.poll(() => announced(page).textContent()).toBe('course.txt is attached')
    await main(page)
      .getByRole('alert')
      .filter({ hasText: /^course\.exe: The filename must end in/ })
      .waitFor()
  })
}
