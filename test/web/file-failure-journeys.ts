import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { createFailing, unavailable } from './failing.ts'
import type { Site } from './site.ts'
import { article, composer } from './visitors.ts'

/** Chooses a file that is deleted before the browser reads it. Playwright itself chooses only existing files. */
async function chooseGone(page: Page, name: string) {
  const session = await page.context().newCDPSession(page)
  const { root } = await session.send('DOM.getDocument')
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'main input[type=file]' })
  await session.send('DOM.setFileInputFiles', { nodeId, files: [join(goneDirectory(), name)] })
}

function goneDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'parley-gone-'))
  rmSync(directory, { recursive: true })
  return directory
}

/** Files that cannot be read or uploaded. */
export function fileFailureJourneys(site: Site) {
  const { signIn } = site
  const { meet } = createFailing(site)

  test.each(['gone.png', 'gone.txt'])('%s, which cannot be read, is refused and can be removed', async (name) => {
    const { channel, address } = await meet()
    const page = await signIn('ann', address)
    await composer(page, channel.name).fill('without a file')
    await chooseGone(page, name)
    await page.getByRole('alert').filter({ hasText: 'This file cannot be read' }).waitFor()
    await composer(page, channel.name).press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Remove the files that were refused first' }).waitFor()
    await page.getByRole('button', { name: `Remove ${name}` }).click()
    await composer(page, channel.name).press('Enter')
    await article(page, 'without a file').waitFor()
  })

  test('a file that could not be uploaded during an outage is uploaded again when the person sends the message', async () => {
    const { channel, address } = await meet()
    const page = await signIn('ann', address, { withoutWorker: true })
    const second = Promise.withResolvers<void>()
    let uploads = 0
    await page.route('**/files/binary*', async (route) => {
      if (++uploads === 2) await second.promise
      await (uploads < 3 ? unavailable(route) : route.continue())
    })
    await composer(page, channel.name).fill('with a file')
    const file = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') }
    await page.locator('main input[type=file]').setInputFiles(file)
    const failure = page.getByRole('listitem').filter({ hasText: 'notes.txt' }).getByRole('alert')
    await failure.waitFor()
    // The outage lasts, so the second upload fails too, and the message is not sent.
    await composer(page, channel.name).press('Enter')
    await page.getByRole('progressbar', { name: 'notes.txt' }).waitFor()
    second.resolve()
    await failure.waitFor()
    expect(await composer(page, channel.name).inputValue()).toBe('with a file')
    await composer(page, channel.name).press('Enter')
    await article(page, 'with a file').getByRole('link', { name: 'notes.txt' }).waitFor()
  })

  test('of many files that are chosen together, a message gets as many as the server takes, and few are uploaded at once', async () => {
    const { channel, address } = await meet()
    const page = await signIn('ann', address, { withoutWorker: true })
    const held: Route[] = []
    await page.route('**/files/binary*', (route) => void held.push(route))
    const files = Array.from({ length: 52 }, (_, n) => ({
      name: `page-${n + 1}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`page ${n + 1}`),
    }))
    await page.locator('main input[type=file]').setInputFiles(files)
    await page.getByRole('alert').filter({ hasText: 'at most 50 files' }).waitFor()
    expect(await page.getByRole('button', { name: /^Remove page-/ }).count()).toBe(50)
    await expect.poll(() => held.length).toBe(3)
    await composer(page, channel.name).fill('a whole book')
    await composer(page, channel.name).press('Enter')
    for (let sent = 0; sent < 50; sent++) {
      await expect.poll(() => held.length).toBe(Math.min(3, 50 - sent))
      await held.shift()!.continue()
    }
    await article(page, 'a whole book').getByRole('link', { name: 'page-50.txt' }).waitFor()
  })

  test('files that are removed before their upload has begun do not keep later ones from being uploaded', async () => {
    const { address } = await meet()
    const page = await signIn('ann', address, { withoutWorker: true })
    const held: Route[] = []
    await page.route('**/files/binary*', (route) => void held.push(route))
    const choose = (names: string[]) =>
      page
        .locator('main input[type=file]')
        .setInputFiles(names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })))
    const waiting = ['d.txt', 'e.txt', 'f.txt']
    await choose(['a.txt', 'b.txt', 'c.txt', ...waiting])
    await expect.poll(() => held.length).toBe(3)
    for (const name of waiting) await page.getByRole('button', { name: `Remove ${name}` }).click()
    for (const route of held.splice(0)) await route.continue()
    await choose(['g.txt'])
    await expect.poll(() => held.length).toBe(1)
  })

  test('the profile stays usable after an image that cannot be read', async () => {
    const page = await signIn('ann', '/profile')
    const button = page.getByRole('button', { name: 'Change picture' })
    await button.waitFor()
    await chooseGone(page, 'face.png')
    await page.getByRole('alert').filter({ hasText: 'This file cannot be read' }).waitFor()
    await expect.poll(() => button.isEnabled()).toBe(true)
  })
}
