import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Request, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'
import { article, composer, openChannel, type VisitOptions } from './visitors.ts'

/** The client does not retry a request when `Retry-After` is longer than half a minute. */
const unavailable = (route: Route) => route.fulfill({ status: 503, headers: { 'retry-after': '60' } })

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

async function showsFace(person: Person) {
  await person.put('/users/me/avatar', { image: png(64, 64, [20, 60, 90]).toString('base64') })
  const avatar = async () => (await person.get(`/users?ids=${person.id}`)).body.users[0].avatarVersion
  await expect.poll(avatar).not.toBeNull()
}

async function replies(person: Person, parent: { id: string }, content: string): Promise<{ id: string }> {
  return (await person.post(`/messages/${parent.id}/thread`, { content })).body.reply
}

/** By itself, the stream may wait up to half a minute before it connects again. With the event of a new network it connects at once. */
const connectsAtOnce = (page: Page) => page.evaluate(() => dispatchEvent(new Event('online')))

const threadOf = (page: Page) => page.getByRole('complementary', { name: 'Thread' })

/** Tests what the page shows during and after failures of the server, of the network or of this machine. */
describeSite('the web client when something fails', { timeout: 120_000 }, (site) => {
  const { openPage, signIn } = site

  /** An empty page whose requests can all be routed. */
  const openUnaided = (options: VisitOptions = {}) => openPage('/docs', { ...options, withoutWorker: true })

  const signInUnaided = (name: string) => signIn(name, '/', { withoutWorker: true })

  async function signInInGerman(name: string) {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.goto(site.baseUrl)
    await page.getByLabel('E-Mail').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await page.getByRole('button', { name: 'Konto' }).waitFor()
    return page
  }

  async function meet() {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `failing ${randomUUID().slice(0, 8)}` })
    return { eve, channel, address: `/c/${channel.id}` }
  }

  test('a language that was never loaded before can be chosen without a network', async () => {
    const page = await signIn('ann')
    await page.evaluate('navigator.serviceWorker.ready')
    await page.evaluate(`localStorage.setItem('parley.preferences', '{"language":"de"}')`)
    await page.context().setOffline(true)
    await page.reload()
    await page.getByRole('navigation', { name: 'Kanäle' }).waitFor()
  })

  test('the language that was chosen last stays, even when the texts of the previous one come later', async () => {
    const page = await signInUnaided('ann')
    await page.goto(`${site.baseUrl}/preferences`)
    const held = Promise.withResolvers<Route>()
    await page.route('**/assets/de-*.js', held.resolve)
    const choice = page.getByRole('combobox', { name: 'Language' })
    await choice.selectOption('Deutsch')
    const route = await held.promise
    await choice.selectOption('English')
    await route.continue()
    // Waits until the page has the German texts.
    await page.evaluate(`import('${route.request().url()}').then(() => new Promise((resolve) => setTimeout(resolve)))`)
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
  })

  test('the page is in English when its language cannot be loaded', async () => {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.route('**/assets/de-*.js', unavailable)
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
  })

  test('what the server refuses is shown in the language of the person', async () => {
    const { channel } = await meet()
    const page = await signInInGerman('dirk')

    await page.getByRole('button', { name: 'Kanal erstellen' }).click()
    const dialog = page.getByRole('dialog', { name: 'Kanal erstellen' })
    await dialog.getByLabel('Name').fill(channel.name)
    await dialog.getByRole('button', { name: 'Erstellen' }).click()
    const refusal = page.getByRole('alert')
    await expect.poll(() => refusal.textContent()).toBe('Es gibt schon einen Kanal mit diesem Namen')

    await page.goto(`${site.baseUrl}/profile`)
    await page.getByRole('textbox', { name: 'Name' }).fill('here')
    await page.getByRole('button', { name: 'Speichern' }).click()
    await expect.poll(() => refusal.textContent()).toBe('Der Name darf nicht here sein, weil @here alle erwähnt')

    const limit = 'content is longer than 16000 characters'
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    await page.route('**/messages', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 400, json: { error: limit } }) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Beitreten' }).click()
    const box = page.getByRole('textbox', { name: `Nachricht an ${channel.name}` })
    await box.pressSequentially('/top')
    await page.getByRole('option').filter({ hasText: 'Das Thema des Kanals setzen' }).waitFor()
    await box.fill('/status krank')
    await box.press('Enter')
    const answer = 'Bitte schreibe /status online oder /status away.'
    await page.getByRole('region', { name: 'Nur für dich sichtbar' }).getByText(answer).waitFor()
    await expect.poll(() => page.locator('[aria-live=polite]').textContent()).toContain(answer)
    await box.fill('ein sehr langer Text')
    await box.press('Enter')
    await article(page, 'ein sehr langer Text').getByText('Die Nachricht hat mehr als 16.000 Zeichen').waitFor()
  })

  test('a sign-in that a provider has refused is explained in the language of the person', async () => {
    const refusal = 'The provider did not let you sign in.'
    const page = await openPage(`/?oauth_error=${encodeURIComponent(refusal)}`, { locale: 'de-DE' })
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toBe('Der Anbieter hat deine Anmeldung nicht erlaubt.')
  })

  test('the sign-in shows no text that somebody has put into the address', async () => {
    const page = await openPage(`/?oauth_error=${encodeURIComponent('Please call 555 0100')}`)
    await expect.poll(() => page.getByRole('alert').textContent()).toBe('The sign-in failed. Please try again.')
  })

  test('a link to a message waits for a busy server, and says "not found" only when there is no message', async () => {
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

  test('a link to a deleted reply shows the other replies', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('who takes the helm?', channel)
    for (let n = 1; n <= 30; n++) await replies(eve, parent, `I do, ${n} times`)
    const { id } = await replies(eve, parent, 'not me')
    await eve.delete(`/messages/${parent.id}/thread/${id}`)
    const page = await signIn('ann', `${address}/t/${parent.id}/m/${id}`)
    const reply = (text: string) => threadOf(page).getByRole('article').filter({ hasText: text })
    await reply('I do, 30 times').waitFor()
    await replies(eve, parent, 'so be it')
    await reply('so be it').waitFor()
    expect(await reply('I do, 1 times').count()).toBe(0)
  })

  test('a linked reply can be deleted while its thread is shown', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('who takes the watch?', channel)
    await replies(eve, parent, 'I will')
    const { id } = await replies(eve, parent, 'nobody')
    const page = await signIn('ann', `${address}/t/${parent.id}/m/${id}`)
    const reply = (text: string) => threadOf(page).getByRole('article').filter({ hasText: text })
    await reply('nobody').waitFor()
    await eve.delete(`/messages/${parent.id}/thread/${id}`)
    await reply('nobody').waitFor({ state: 'detached' })
    await reply('I will').waitFor()
  })

  test('a thread shows that its message was deleted, also when it is deleted while the thread is shown', async () => {
    const { eve, channel, address } = await meet()
    const [early, late] = [await eve.says('gone early', channel), await eve.says('gone late', channel)]
    const { id } = await replies(eve, early, 'an answer')
    await eve.delete(`/messages/${early.id}`)
    const page = await signIn('ann', `${address}/t/${early.id}/m/${id}`)
    const sentence = threadOf(page).getByText('This message is not available')
    await sentence.waitFor()
    await page.goto(`${site.baseUrl}${address}/t/${late.id}`)
    await threadOf(page).getByText('No replies yet').waitFor()
    await eve.delete(`/messages/${late.id}`)
    await sentence.waitFor()
    expect(await threadOf(page).getByRole('feed').count()).toBe(0)
  })

  test('a linked message can be deleted while its channel is shown', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('stays there', channel)
    const { id } = await eve.says('goes away', channel)
    const page = await signIn('ann', `${address}/m/${id}`)
    await article(page, 'goes away').waitFor()
    await eve.delete(`/messages/${id}`)
    await article(page, 'goes away').waitFor({ state: 'detached' })
    await article(page, 'stays there').waitFor()
  })

  test('a list whose first row is an unsent message is not busy once its messages are loaded', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('any news?', channel)
    const page = await signInUnaided('ann')
    const held: Route[] = []
    let isHolding = true
    await page.route('**/messages/*/thread*', async (route) => {
      // The request that sends the message never gets a response.
      if (route.request().method() !== 'GET') return
      // The page may request the replies twice: when it does not have their parent yet, and once it has it.
      if (isHolding) held.push(route)
      else await route.continue()
    })
    await page.goto(`${site.baseUrl}${address}/t/${parent.id}`)
    const box = threadOf(page).getByRole('textbox', { name: 'Reply' })
    await box.fill('none yet')
    await box.press('Enter')
    await threadOf(page).getByRole('article').filter({ hasText: 'none yet' }).waitFor()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    isHolding = false
    for (const route of held) await route.continue()
    await threadOf(page).locator('[role=feed][aria-busy=false]').waitFor()
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

  test('a command that is refused after its channel was left stays a draft', async () => {
    const { eve, channel, address } = await meet()
    const other = await eve.creates({ name: `left ${randomUUID().slice(0, 8)}` })
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    for (const { id } of [channel, other]) await ann.post(`/channels/${id}/join`)
    const page = await signIn('ann', address, { withoutWorker: true })
    const held = Promise.withResolvers<Route>()
    await page.route('**/commands', held.resolve)
    await composer(page, channel.name).fill('/topic of the day')
    await composer(page, channel.name).press('Enter')
    const route = await held.promise
    await openChannel(page, other.name)
    await route.fulfill({ status: 403, json: { error: 'Not you', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not you' }).waitFor()
    await openChannel(page, channel.name)
    expect(await composer(page, channel.name).inputValue()).toBe('/topic of the day')
  })

  test('the profile stays usable after an image that cannot be read', async () => {
    const page = await signIn('ann', '/profile')
    const button = page.getByRole('button', { name: 'Change picture' })
    await button.waitFor()
    await chooseGone(page, 'face.png')
    await page.getByRole('alert').filter({ hasText: 'This file cannot be read' }).waitFor()
    await expect.poll(() => button.isEnabled()).toBe(true)
  })

  test('avatars, channel names and emoji that could not be fetched are loaded after an outage', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
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
    await refuse('emoji', '**/assets/loaded-list-*.js')
    await page.goto(site.baseUrl + address)
    const message = article(page, 'look at')
    await message.waitFor()
    await expect.poll(() => Object.values(asked)).not.toContain(0)
    expect(await message.locator('.avatar img, .text a').count()).toBe(0)
    await site.installation.killEverything()
    const status = page.getByRole('status').filter({ hasText: 'Reconnecting…' })
    await status.waitFor()
    // The page does not retry all the time, but after an occasion such as a lost connection.
    expect(Math.max(...Object.values(asked))).toBeLessThan(10)
    await page.unrouteAll()
    await site.installation.start()
    await connectsAtOnce(page)
    await status.waitFor({ state: 'detached' })
    await message.locator('.avatar img').waitFor()
    await message.getByRole('link', { name: `#${other.name}` }).waitFor()
    await message.getByText('🎉').waitFor()
  })

  test('avatars, channel names and emoji that were refused for some time are loaded automatically', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
    const other = await eve.creates({ name: `slip ${randomUUID().slice(0, 8)}` })
    await eve.says(`go to #${other.name} :anchor:`, channel)
    const page = await signInUnaided('ann')
    const asked = new Set<string>()
    for (const pattern of ['**/users/*/avatar/**', '**/channels?q=slip*', '**/assets/loaded-list-*.js']) {
      await page.route(pattern, (route) => {
        asked.add(pattern)
        return unavailable(route)
      })
    }
    await page.goto(site.baseUrl + address)
    const message = article(page, 'go to')
    await expect.poll(() => asked.size).toBe(3)
    await page.unrouteAll()
    await message.locator('.avatar img').waitFor()
    await message.getByRole('link', { name: `#${other.name}` }).waitFor()
    await message.getByText('⚓').waitFor()
  })

  test('an image that was refused for some time is loaded automatically', async () => {
    const { eve, channel, address } = await meet()
    const place = `/channels/${channel.id}/messages`
    const images = [await eve.uploadsImage(place, 'chart.png', png(300, 200, [40, 90, 160]))]
    await eve.sends(channel, { content: 'the chart', images })
    const page = await signInUnaided('ann')
    const refused = Promise.withResolvers<void>()
    await page.route('**/messages/image/**', async (route) => {
      await unavailable(route)
      refused.resolve()
    })
    await page.goto(site.baseUrl + address)
    await refused.promise
    await page.unrouteAll()
    await article(page, 'the chart').locator('img[src^="blob:"]').first().waitFor()
  })

  test('older messages that could not be fetched are fetched when the connection is back', async () => {
    const { eve, channel, address } = await meet()
    for (let n = 1; n <= 120; n++) await eve.says(`fathom ${n}.`, channel)
    const page = await signInUnaided('ann')
    const older = '**/messages?*before=*'
    const refused = Promise.withResolvers<void>()
    await page.goto(site.baseUrl + address)
    await article(page, 'fathom 120.').waitFor()
    await page.route(older, async (route) => {
      await unavailable(route)
      refused.resolve()
    })
    await page.locator('.feed-scroller').evaluate((list) => list.scrollTo(0, 0))
    await refused.promise
    await site.installation.killEverything()
    const status = page.getByRole('status').filter({ hasText: 'Reconnecting…' })
    await status.waitFor()
    await page.unroute(older)
    let isFetched = false
    page.on('response', (response) => {
      if (response.url().includes('before=') && response.ok()) isFetched = true
    })
    await site.installation.start()
    const wakes = async () => {
      await connectsAtOnce(page)
      return isFetched
    }
    await expect.poll(wakes).toBe(true)
  })

  test('older messages that were refused are requested again, later by themselves or at once with a button', async () => {
    const { eve, channel, address } = await meet()
    for (let n = 1; n <= 120; n++) await eve.says(`fathom ${n}.`, channel)
    const page = await signInUnaided('ann')
    let asked = 0
    await page.route('**/messages?*before=*', (route) => {
      asked++
      return unavailable(route)
    })
    await page.goto(site.baseUrl + address)
    await article(page, 'fathom 120.').waitFor()
    const again = page.getByRole('button', { name: 'Messages could not be loaded. Try again' })
    expect(await again.count()).toBe(0)
    await page.locator('.feed-scroller').evaluate((list) => list.scrollTo(0, 0))
    await again.waitFor()
    // A person who scrolls at the beginning does not make a busy server busier.
    const before = asked
    await page.getByRole('feed').hover()
    for (let turn = 0; turn < 10; turn++) {
      await page.mouse.wheel(0, turn % 2 ? -20 : 20)
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    }
    expect(asked).toBeLessThanOrEqual(before + 1)

    const count = asked
    await again.press('Enter')
    await expect.poll(() => asked).toBeGreaterThan(count)
    await again.waitFor()
    await page.unroute('**/messages?*before=*')
    await again.waitFor({ state: 'detached' })
    await article(page, 'fathom 70.').waitFor({ state: 'attached' })
  })

  test('a failure to load older messages is announced, and the focus of a person who tries again goes to a message', async () => {
    const { eve, channel, address } = await meet()
    for (let n = 1; n <= 120; n++) await eve.says(`fathom ${n}.`, channel)
    const page = await signInUnaided('ann')
    const older = '**/messages?*before=*'
    await page.route(older, unavailable)
    await page.goto(site.baseUrl + address)
    await article(page, 'fathom 120.').waitFor()
    const failure = 'Messages could not be loaded. Try again'
    const spoken = page.locator('[aria-live=polite] p')
    expect(await spoken.allTextContents()).toEqual([''])
    await page.locator('.feed-scroller').evaluate((list) => list.scrollTo(0, 0))
    const again = page.getByRole('button', { name: failure })
    await again.waitFor()
    await expect.poll(() => spoken.allTextContents()).toEqual([failure])
    // Every failure of an attempt by the person is announced again, in a new element.
    await spoken.evaluate((element) => element.setAttribute('data-heard', ''))
    await again.press('Enter')
    await page.locator('[aria-live=polite] p:not([data-heard])').waitFor({ state: 'attached' })
    expect(await spoken.allTextContents()).toEqual([failure])

    await page.unroute(older)
    await again.press('Enter')
    await again.waitFor({ state: 'detached' })
    await article(page, 'fathom 70.').waitFor({ state: 'attached' })
    await expect.poll(() => page.evaluate(() => document.activeElement?.matches('[role=feed] article'))).toBe(true)
    const top = await page.evaluate(() => document.activeElement!.getBoundingClientRect().bottom)
    expect(top).toBeGreaterThan(0)
  })

  test('a dialog whose code could not be loaded is shown when it is opened again', async () => {
    const page = await signInUnaided('ann')
    await openChannel(page, 'General')
    const code = '**/assets/channel-settings-*.js*'
    await page.route(code, unavailable)
    const settings = page.getByRole('dialog', { name: 'Channel settings' })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await settings.getByText('This part of the page could not be loaded.').waitFor()
    await page.unroute(code)
    await page.keyboard.press('Escape')
    await settings.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await settings.getByRole('region', { name: 'Members' }).waitFor()
  })

  test('the dialog of pinned messages says that there are none only when the server has said so', async () => {
    const { eve, channel, address } = await meet()
    const { id } = await eve.says('mind the shallows', channel)
    const page = await signInUnaided('ann')
    await page.goto(site.baseUrl + address)
    await article(page, 'mind the shallows').waitFor()
    const held: Route[] = []
    await page.route('**/pins', (route) => void held.push(route))
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const pins = page.getByRole('dialog', { name: 'Pinned messages' })
    await pins.waitFor()
    await expect.poll(() => held.length).toBe(1)
    const nothing = pins.getByText('Nothing is pinned')
    expect(await nothing.count()).toBe(0)
    await held[0]!.continue()
    await nothing.waitFor()
    await eve.post(`/messages/${id}/pin`)
    await pins.getByRole('article').filter({ hasText: 'mind the shallows' }).waitFor()
  })

  test('an avatar that was refused in one session is loaded in the next one without a reload', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
    await eve.says('good morning', channel)
    const page = await signInUnaided('ann')
    const asked = Promise.withResolvers<void>()
    await page.route('**/users/*/avatar/**', async (route) => {
      await route.fulfill({ status: 404, json: { error: 'There is no such picture' } })
      asked.resolve()
    })
    await page.goto(site.baseUrl + address)
    await asked.promise
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email').fill('ann@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    // Navigates within the page, which is not reloaded.
    await page.evaluate(`history.pushState(null, '', '${address}'); dispatchEvent(new PopStateEvent('popstate'))`)
    await article(page, 'good morning').locator('.avatar img').waitFor()
  })

  test('code that was rendered before the web worker was loaded is highlighted later', async () => {
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

  test('code is highlighted even when the script was never loaded for earlier code', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('```js\nconst ebb = 1\n```', channel)
    const page = await signInUnaided('ann')
    await page.clock.install()
    const pattern = '**/assets/highlighter-worker-*.js'
    const held = Promise.withResolvers<void>()
    let asked = 0
    await page.route(pattern, async (route) => {
      // Without a route, the browser would continue the first request.
      if (++asked > 1) await route.continue()
      else held.resolve()
    })
    await page.goto(site.baseUrl + address)
    await held.promise
    await page.clock.runFor(31_000)
    await eve.says('```js\nconst flood = 2\n```', channel)
    await article(page, 'const flood').locator('.code-keyword').waitFor()
  })

  test('a read state is sent after an outage, even when nothing else happens in the channel', async () => {
    const { eve, channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    const page = await signInUnaided('ann')
    // The home page would show the new channel when it is the first of the list, and would send its read state when it is left.
    await openChannel(page, 'General')
    const refused = Promise.withResolvers<void>()
    await page.route('**/channels/*/read', async (route) => {
      await unavailable(route)
      refused.resolve()
    })
    await ann.post(`/channels/${channel.id}/join`)
    await eve.says('look at this', channel)
    await page.goto(site.baseUrl + address)
    await refused.promise
    await page.unroute('**/channels/*/read')
    const unread = async () => (await ann.get(`/channels/${channel.id}`)).body.channel.unreadCount
    await expect.poll(unread, { timeout: 20_000 }).toBe(0)
  })

  test.each(['refused', 'lost'] as const)(
    'a read state that was %s is sent later, also when the channel was left',
    async (how) => {
      const { eve, channel } = await meet()
      const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
      await ann.post(`/channels/${channel.id}/join`)
      const page = await signInUnaided('ann')
      await openChannel(page, channel.name)
      await openChannel(page, 'General')
      await eve.says('read in the tunnel', channel)
      const unread = async () => (await ann.get(`/channels/${channel.id}`)).body.channel.unreadCount
      await expect.poll(unread).toBe(1)
      await page.getByRole('link', { name: new RegExp(`^${channel.name}.*1 unread`) }).waitFor()
      await page.clock.install()
      if (how === 'refused') await page.route('**/channels/*/read', unavailable)
      else await page.context().setOffline(true)
      const isRead = (request: { url: () => string }) => request.url().endsWith(`/channels/${channel.id}/read`)
      const failed = how === 'refused' ? page.waitForResponse(isRead) : page.waitForEvent('requestfailed', isRead)
      await openChannel(page, channel.name)
      await article(page, 'read in the tunnel').waitFor()
      await openChannel(page, 'General')
      await failed
      // Longer than the client itself repeats a request.
      for (let n = 0; n < 10; n++) await page.clock.runFor(10_000)
      expect(await unread()).toBe(1)
      if (how === 'refused') await page.unroute('**/channels/*/read')
      else await page.context().setOffline(false)
      await expect.poll(unread, { timeout: 30_000 }).toBe(0)
    },
  )

  test.each(['refused', 'lost'] as const)(
    'what was marked as read while the request was %s is sent after another start of the page',
    async (how) => {
      const { eve, channel } = await meet()
      const name = `bea.${how}`
      const bea = await Person.signIn(site.baseUrl, `${name}@example.com`)
      await bea.post(`/channels/${channel.id}/join`)
      const { conversation } = (await eve.post('/conversations', { targetUserId: bea.id })).body
      await eve.says('to all', channel)
      await eve.post(`/conversations/${conversation.id}/messages`, { content: 'to you' })
      const unread = async () => [
        (await bea.get(`/channels/${channel.id}`)).body.channel.unreadCount,
        (await bea.get(`/conversations/${conversation.id}`)).body.conversation.unreadCount,
      ]
      expect(await unread()).toEqual([1, 1])
      // No channel is open there, so only the button marks them as read.
      const page = await signIn(name, '/profile', { withoutWorker: true })
      await page.getByRole('link', { name: new RegExp(`^${channel.name}.*1 unread`) }).waitFor()
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Mark all as read' }).click()
      const dialog = page.getByRole('dialog', { name: 'Mark all as read' })
      const pattern = /\/(channels|conversations)\/[^/]+\/read$/
      if (how === 'refused') await page.route(pattern, unavailable)
      else await page.route(pattern, (route) => route.abort('internetdisconnected'))
      const isOf = (id: string) => (request: Request) => decodeURIComponent(request.url()).endsWith(`/${id}/read`)
      const ended = (id: string) =>
        how === 'refused'
          ? page.waitForResponse((response) => isOf(id)(response.request()))
          : page.waitForEvent('requestfailed', isOf(id))
      const both = Promise.all([ended(channel.id), ended(conversation.id)])
      await dialog.getByRole('button', { name: 'Mark as read' }).click()
      await both
      await page.goto(`${site.baseUrl}/docs`)
      await page.unroute(pattern)
      expect(await unread()).toEqual([1, 1])
      await page.goto(`${site.baseUrl}/profile`)
      await expect.poll(unread, { timeout: 20_000 }).toEqual([0, 0])
    },
  )

  test('a read state is sent while messages come all the time', async () => {
    const { eve, channel, address } = await meet()
    const page = await signIn('ann', address, { withoutWorker: true })
    await eve.says('message 0.', channel)
    await article(page, 'message 0.').waitFor()
    let isTold = false
    page.on('request', (request) => {
      if (request.method() === 'PUT' && request.url().endsWith('/read')) isTold = true
    })
    for (let n = 1; !isTold && n < 1_000; n++) await eve.says(`message ${n}.`, channel)
    expect(isTold).toBe(true)
  })

  test('a read state is sent when the person opens another channel immediately', async () => {
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

  /** Waits until the page has rendered a response that it has just got. */
  async function isHandled(page: Page, route: Route, pattern: RegExp) {
    const [response] = await Promise.all([page.waitForResponse(pattern), route.continue()])
    await response.finished()
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
  }

  test('a direct message that is created late does not lead a person away who has opened something else meanwhile', async () => {
    const name = `late.${randomUUID().slice(0, 8)}`
    await Person.signIn(site.baseUrl, `${name}@example.com`)
    const page = await signInUnaided('ann')
    const pattern = /\/conversations$/
    const held = Promise.withResolvers<Route>()
    await page.route(pattern, (route) => (route.request().method() === 'POST' ? held.resolve(route) : route.continue()))
    await page.getByRole('button', { name: 'New direct message' }).click()
    const dialog = page.getByRole('dialog', { name: 'New direct message' })
    await dialog.getByRole('combobox').fill(name)
    await dialog.getByRole('option', { name }).click()
    const route = await held.promise
    // The dialog stays open until the response comes, or the person closes it.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Preferences' }).click()
    await page.getByRole('heading', { level: 1, name: 'Preferences' }).waitFor()
    await isHandled(page, route, pattern)
    expect(new URL(page.url()).pathname).toBe('/preferences')
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  })

  test('a button that is pressed does not move before it is released, although the channels above it are loaded meanwhile', async () => {
    const page = await signInUnaided('ann')
    await page.evaluate(
      'indexedDB.databases().then((all) => all.forEach(({ name }) => indexedDB.deleteDatabase(name)))',
    )
    const lists = /\/channels\?/
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(lists, async (route) => {
      asked.resolve()
      await released.promise
      await route.continue()
    })
    await page.goto(`${site.baseUrl}/profile`)
    const button = page.getByRole('button', { name: 'New direct message' })
    await button.hover()
    await asked.promise
    await page.mouse.down()
    // The time stands still, because a press holds the list back only for a moment.
    await page.evaluate('{ const now = performance.now(); performance.now = () => now }')
    const loaded = page.waitForResponse(lists)
    released.resolve()
    await (await loaded).finished()
    for (let frame = 0; frame < 10; frame++) await page.evaluate('new Promise(requestAnimationFrame)')
    expect(await page.getByRole('link', { name: 'General' }).count()).toBe(0)
    await page.mouse.up()
    await page.getByRole('dialog', { name: 'New direct message' }).waitFor()
    await page.getByRole('link', { name: 'General' }).waitFor()
  })

  test('a direct message that is created before the first channel opens by itself is opened', async () => {
    const name = `early.${randomUUID().slice(0, 8)}`
    await Person.signIn(site.baseUrl, `${name}@example.com`)
    const page = await signInUnaided('ann')
    const [lists, created] = [/\/channels\?/, /\/conversations$/]
    const [released, heldCreated] = [Promise.withResolvers<void>(), Promise.withResolvers<Route>()]
    // Without stored data, the first channel opens when the list of channels has come.
    await page.evaluate(
      'indexedDB.databases().then((all) => all.forEach(({ name }) => indexedDB.deleteDatabase(name)))',
    )
    await page.route(lists, (route) => released.promise.then(() => route.continue()))
    await page.route(created, (route) =>
      route.request().method() === 'POST' ? heldCreated.resolve(route) : route.continue(),
    )
    await page.goto(`${site.baseUrl}/`)
    await page.getByRole('button', { name: 'New direct message' }).click()
    const dialog = page.getByRole('dialog', { name: 'New direct message' })
    await dialog.getByRole('combobox').fill(name)
    await dialog.getByRole('option', { name }).click()
    const route = await heldCreated.promise
    released.resolve()
    await page.waitForURL(/\/c\//)
    await isHandled(page, route, created)
    await page.getByRole('heading', { level: 1, name }).waitFor()
  })

  test('the first unread message that is loaded late does not lead a person away who has sent a message meanwhile', async () => {
    const { eve, channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    await ann.post(`/channels/${channel.id}/join`)
    for (let n = 1; n <= 80; n++) await eve.says(`line ${n}. ${'words '.repeat(40)}`, channel)
    const page = await signInUnaided('ann')
    const pattern = /aroundSeq=/
    const held = Promise.withResolvers<Route>()
    await page.route(pattern, held.resolve)
    await page.goto(site.baseUrl + address)
    await page.getByRole('button', { name: 'Jump to first unread' }).click()
    const route = await held.promise
    await composer(page, channel.name).fill('and mine')
    await composer(page, channel.name).press('Enter')
    await article(page, 'and mine').getByRole('link').waitFor({ state: 'attached' })
    await isHandled(page, route, pattern)
    expect(await article(page, 'and mine').count()).toBe(1)
    expect(await article(page, 'line 1.').count()).toBe(0)
  })

  test('the audit log shows each entry once, even when entries are recorded meanwhile', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const created: string[] = []
    const create = async () => {
      created.push((await admin.creates({ name: `audited ${randomUUID().slice(0, 8)}` })).id)
    }
    for (let n = 0; n < 70; n++) await create()
    const page = await signIn('admin', '/admin/audit')
    await page.getByLabel('Action').fill('channel.create')
    // The list without the filter has the same newest entries.
    const [filtered] = await Promise.all([
      page.waitForResponse('**/admin/audit-log?*action=channel.create*'),
      page.getByRole('button', { name: 'Filter' }).click(),
    ])
    await filtered.finished()
    // Longer than the page needs to render the response.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
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

  test('the page of sign-in providers does not say that there are none when they could not be fetched', async () => {
    const page = await signInUnaided('admin')
    await page.route('**/admin/sso', unavailable)
    await page.goto(`${site.baseUrl}/admin/sign-in`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByText('No provider is configured').count()).toBe(0)
  })

  test('the button of a form keeps the focus, and a second press while it is busy sends nothing', async () => {
    const page = await signInUnaided('ann')
    const held: Route[] = []
    await page.route('**/channels', (route) => void held.push(route))
    await page.getByRole('button', { name: 'Create channel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create channel' })
    await dialog.getByLabel('Name').fill('refused')
    const button = dialog.getByRole('button', { name: 'Create', exact: true })
    const hasFocus = () => button.evaluate((element) => element === document.activeElement)
    await button.focus()
    // Both presses come before the page renders again.
    await button.evaluate((element: HTMLElement) => {
      element.click()
      element.click()
    })
    await expect.poll(() => held.length).toBe(1)
    await page.keyboard.press('Enter')
    expect(await hasFocus()).toBe(true)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not now' } })
    await dialog.getByRole('alert').filter({ hasText: 'Not now' }).waitFor()
    expect([held.length, await hasFocus()]).toEqual([1, true])
  })

  test('two groups that are removed from a channel at the same time are both removed', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const groups: string[] = []
    for (const handle of ['port-watch', 'dog-watch'])
      groups.push((await admin.post('/groups', { handle, name: handle })).body.group.id)
    const channel = await admin.creates({ name: `watches ${randomUUID().slice(0, 8)}` })
    await admin.put(`/channels/${channel.id}`, { groups })
    const page = await signIn('admin', `/c/${channel.id}`, { withoutWorker: true })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const first = Promise.withResolvers<Route>()
    let changes = 0
    await page.route(`**/channels/${channel.id}`, async (route) => {
      if (route.request().method() === 'PUT' && ++changes === 1) first.resolve(route)
      else await route.continue()
    })
    await page.getByRole('button', { name: 'Remove port-watch' }).click()
    const route = await first.promise
    await page.getByRole('button', { name: 'Remove dog-watch' }).click()
    // Whatever the page sends at once, it has sent before this.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    await route.continue()
    const left = async () => (await admin.get(`/channels/${channel.id}`)).body.channel.groups ?? []
    await expect.poll(left).toEqual([])
    await page.getByRole('button', { name: 'Remove dog-watch' }).waitFor({ state: 'detached' })
  })

  test('a double click begins one export, and its state is requested again only after a response', async () => {
    const page = await signInUnaided('admin')
    await page.goto(`${site.baseUrl}/admin/export`)
    const button = page.getByRole('button', { name: 'Export' })
    await button.waitFor()
    await page.clock.install()
    const begun: Route[] = []
    const polls: Route[] = []
    await page.route('**/admin/exports', (route) => void begun.push(route))
    await page.route('**/admin/exports/*', (route) => void polls.push(route))
    const json = {
      id: randomUUID(),
      state: 'running',
      requestedBy: randomUUID(),
      progress: { records: 1, total: 2 },
      size: null,
      createdAt: 0,
      finishedAt: null,
      expiresAt: 0,
    }
    await button.dblclick()
    await expect.poll(() => begun.length).toBeGreaterThan(0)
    // Whatever the page does at once, it has done before this.
    const drawn = () =>
      page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    await drawn()
    expect(begun.length).toBe(1)
    await begun[0]!.fulfill({ json })
    await page.getByRole('progressbar', { name: 'Export' }).waitFor()
    await page.clock.runFor(10_000)
    await expect.poll(() => polls.length).toBeGreaterThan(0)
    expect(polls.length).toBe(1)
    await polls[0]!.fulfill({ json })
    await page.clock.runFor(10_000)
    await expect.poll(() => polls.length).toBe(2)
    await polls[1]!.fulfill({ json: { ...json, state: 'ready' } })
    await page.getByRole('link', { name: 'Download' }).waitFor()
  })

  test('the audit log stays filtered when a response for the previous filter comes late', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    for (let n = 0; n < 55; n++) await admin.creates({ name: `listed ${randomUUID().slice(0, 8)}` })
    const page = await signInUnaided('admin')
    await page.goto(`${site.baseUrl}/admin/audit`)
    const held = Promise.withResolvers<Route>()
    const pattern = '**/admin/audit-log?*offset=*'
    await page.route(pattern, held.resolve)
    await page.getByRole('button', { name: 'Show more' }).click()
    const route = await held.promise
    await page.getByLabel('Action').fill('none.such')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBeLessThan(2)
    const [response] = await Promise.all([page.waitForResponse(pattern), route.continue()])
    await response.finished()
    // Longer than the page needs to render the response.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(await page.getByRole('row').count()).toBeLessThan(2)
  })
})
