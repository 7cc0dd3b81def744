import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'
import { article, composer, openChannel } from './visitors.ts'

/** The client does not repeat a request by itself when it is told to wait for longer than half a minute. */
const unavailable = (route: Route) => route.fulfill({ status: 503, headers: { 'retry-after': '60' } })

/** Chooses a file that is gone before the browser reads it. Playwright itself chooses only files that are there. */
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

/** What a page shows while a part of the server, of the network or of this machine fails, and afterwards. */
describeSite('the web client when something fails', { timeout: 120_000 }, (site) => {
  const { openPage, signIn } = site

  /** A page without the service worker, so that `route` sees every request. It shows nothing of the web client yet. */
  async function openUnaided(options: BrowserContextOptions = {}) {
    const page = await openPage('/docs', options)
    await page.addInitScript('delete Navigator.prototype.serviceWorker')
    return page
  }

  async function signInUnaided(name: string) {
    const page = await openUnaided()
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    return page
  }

  async function meet() {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `failing ${randomUUID().slice(0, 8)}` })
    return { eve, channel, address: `/c/${channel.id}` }
  }

  test('a language that was never loaded is there without a network', async () => {
    const page = await signIn('ann')
    await page.evaluate('navigator.serviceWorker.ready')
    await page.evaluate(`localStorage.setItem('parley.preferences', '{"language":"de"}')`)
    await page.context().setOffline(true)
    await page.reload()
    await page.getByRole('navigation', { name: 'Kanäle' }).waitFor()
  })

  test('English stands in for a language that cannot be loaded', async () => {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.route('**/assets/de-*.js', unavailable)
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
  })

  test('a link to a message waits for a server that is busy, and is not found only where there is none', async () => {
    const { eve, channel, address } = await meet()
    const { id } = await eve.says('the far buoy', channel)
    const page = await signInUnaided('ann')
    let asked = 0
    await page.route(`**/messages/${id}`, (route) => {
      asked++
      return unavailable(route)
    })
    await page.goto(`${site.baseUrl}${address}/m/${id}`)
    await expect.poll(() => asked).toBeGreaterThan(1)
    expect(await page.getByRole('heading', { name: 'Not found' }).count()).toBe(0)
    await page.unroute(`**/messages/${id}`)
    await article(page, 'the far buoy').waitFor()
    await page.goto(`${site.baseUrl}${address}/m/${randomUUID()}`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })

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

  test('a picture that cannot be read leaves the profile usable', async () => {
    const page = await signIn('ann', '/profile')
    const button = page.getByRole('button', { name: 'Change picture' })
    await button.waitFor()
    await chooseGone(page, 'face.png')
    await page.getByRole('alert').filter({ hasText: 'This file cannot be read' }).waitFor()
    await expect.poll(() => button.isEnabled()).toBe(true)
  })

  test('pictures, names of channels and emoji that were missed are there after an outage', async () => {
    const { eve, channel, address } = await meet()
    await eve.put('/users/me/avatar', { image: png(64, 64, [20, 60, 90]).toString('base64') })
    const avatar = async () => (await eve.get(`/users?ids=${eve.id}`)).body.users[0].avatarVersion
    await expect.poll(avatar).not.toBeNull()
    const other = await eve.creates({ name: `berth ${randomUUID().slice(0, 8)}` })
    await eve.says(`look at #${other.name} :tada:`, channel)
    const page = await signInUnaided('ann')
    const asked = { avatar: 0, channel: 0, emoji: 0 }
    const refuse = (what: keyof typeof asked, pattern: string) =>
      page.route(pattern, (route) => {
        asked[what]++
        return unavailable(route)
      })
    await refuse('avatar', '**/users/*/avatar/**')
    await refuse('channel', '**/channels?q=berth*')
    await refuse('emoji', '**/assets/_emoji-*.js')
    await page.goto(site.baseUrl + address)
    const message = article(page, 'look at')
    await message.waitFor()
    await expect.poll(() => Object.values(asked)).not.toContain(0)
    expect(await message.locator('.avatar img, .text a').count()).toBe(0)
    await site.installation.killEverything()
    const status = page.getByRole('status').filter({ hasText: 'Reconnecting…' })
    await status.waitFor()
    // It asks again at an occasion, such as a lost connection, and not all the time.
    expect(Math.max(...Object.values(asked))).toBeLessThan(10)
    await page.unrouteAll()
    await site.installation.start()
    await status.waitFor({ state: 'detached' })
    await message.locator('.avatar img').waitFor()
    await message.getByRole('link', { name: `#${other.name}` }).waitFor()
    await eve.says('again :rocket:', channel)
    await message.getByText('🎉').waitFor()
    await article(page, 'again 🚀').waitFor()
  })

  test('code that was drawn before its worker came is coloured in the end', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('```js\nconst tide = 1\n```', channel)
    const page = await signInUnaided('ann')
    await page.clock.install()
    const held = Promise.withResolvers<Route>()
    await page.route('**/assets/highlighter-worker-*.js', held.resolve)
    await page.goto(site.baseUrl + address)
    const route = await held.promise
    await page.clock.runFor(5_000)
    await route.continue()
    await article(page, 'const tide').locator('.code-keyword').waitFor()
  })

  test('what is read in a channel is told while messages come all the time', async () => {
    const { eve, channel, address } = await meet()
    const page = await signIn('ann', address)
    await eve.says('message 0.', channel)
    await article(page, 'message 0.').waitFor()
    let isTold = false
    page.on('request', (request) => {
      if (request.method() === 'PUT' && request.url().endsWith('/read')) isTold = true
    })
    for (let n = 1; !isTold && n < 1_000; n++) await eve.says(`message ${n}.`, channel)
    expect(isTold).toBe(true)
  })

  test('what is read in a channel is told when somebody goes to another one at once', async () => {
    const { eve, channel } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    await ann.post(`/channels/${channel.id}/join`)
    const page = await signIn('ann')
    await openChannel(page, 'General')
    await eve.says('a short look', channel)
    const unread = async () => (await ann.get(`/channels/${channel.id}`)).body.channel.unreadCount
    await expect.poll(unread).toBe(1)
    await openChannel(page, channel.name)
    await article(page, 'a short look').waitFor()
    await openChannel(page, 'General')
    await expect.poll(unread).toBe(0)
  })

  test('the audit log shows each entry once, whatever is recorded meanwhile', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const created: string[] = []
    const create = async () => {
      created.push((await admin.creates({ name: `audited ${randomUUID().slice(0, 8)}` })).id)
    }
    for (let n = 0; n < 70; n++) await create()
    const page = await signIn('admin', '/admin/audit')
    await page.getByLabel('Action').fill('channel.create')
    await page.getByRole('button', { name: 'Filter' }).click()
    const targets = () =>
      page
        .getByRole('row')
        .locator('td:nth-child(4) [title]')
        .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('title')))
    await expect.poll(targets).toContain(created.at(-1))
    const first = created.length
    for (let n = 0; n < 5; n++) await create()
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(async () => (await targets()).length).toBeGreaterThan(60)
    const shown = await targets()
    expect(shown).toEqual([...new Set(shown)])
    expect(shown.slice(0, first)).toEqual(created.slice(0, first).reverse())
  })
})
