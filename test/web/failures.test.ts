import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { adminFailureJourneys } from './admin-failure-journeys.ts'
import { createFailing, unavailable } from './failing.ts'
import { fileFailureJourneys } from './file-failure-journeys.ts'
import { linkFailureJourneys } from './link-failure-journeys.ts'
import { loadingFailureJourneys } from './loading-failure-journeys.ts'
import { readingFailureJourneys } from './reading-failure-journeys.ts'
import { describeSite } from './site.ts'
import { article, composer, openChannel, removeStores } from './visitors.ts'

/** Tests what the page shows during and after failures of the server, of the network or of this machine. */
describeSite('the web client when something fails', { timeout: 120_000 }, (site) => {
  const { openPage, signIn } = site
  const { openUnaided, signInUnaided, meet } = createFailing(site)

  async function signInInGerman(name: string) {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.goto(site.baseUrl)
    await page.getByLabel('E-Mail').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await page.getByRole('button', { name: 'Konto' }).waitFor()
    return page
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
    const answer = 'Bitte schreibe /status online, /status away oder /status clear'
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
    await removeStores(page)
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

  test('a conversation that is refused leaves its dialog open, with the error', async () => {
    const { eve } = await meet()
    const page = await signInUnaided('ann')
    await page.route('**/conversations', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
        : route.fallback(),
    )
    for (const [keys, name] of [
      ['Control+k', 'Switch to'],
      ['', 'New direct message'],
    ] as const) {
      if (keys) await page.keyboard.press(keys)
      else await page.getByRole('button', { name: 'New direct message' }).click()
      const dialog = page.getByRole('dialog', { name })
      await dialog.getByRole('combobox').fill(eve.userName)
      await dialog.getByRole('option').filter({ hasText: eve.userName }).waitFor()
      await dialog.getByRole('combobox').press('Enter')
      await dialog.getByRole('alert').filter({ hasText: 'Not today' }).getByRole('button', { name: 'Close' }).click()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
  })

  test('a channel that is deleted twice before the response is deleted once', async () => {
    const { eve, channel, address } = await meet()
    const page = await signIn('eve', address, { withoutWorker: true })
    const held: Route[] = []
    await page.route(`**/channels/${channel.id}`, (route) =>
      route.request().method() === 'DELETE' ? void held.push(route) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const remove = async () => {
      await page
        .getByRole('dialog', { name: 'Channel settings' })
        .getByRole('button', { name: 'Delete channel' })
        .click()
      await page.getByRole('dialog', { name: 'Delete channel' }).getByRole('button', { name: 'Delete' }).click()
    }
    await remove()
    await remove()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    for (const route of held) await route.continue()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(held.length).toBe(1)
    expect((await eve.get(`/channels/${channel.id}`)).status).toBe(404)
  })

  test('a direct message that is created before the first channel opens by itself is opened', async () => {
    const name = `early.${randomUUID().slice(0, 8)}`
    await Person.signIn(site.baseUrl, `${name}@example.com`)
    const page = await signInUnaided('ann')
    const [lists, created] = [/\/channels\?/, /\/conversations$/]
    const [released, heldCreated] = [Promise.withResolvers<void>(), Promise.withResolvers<Route>()]
    // Without stored data, the first channel opens when the list of channels has come.
    await removeStores(page)
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

  test('a message is sent again when its request has no response after a minute', async () => {
    const { channel, address } = await meet()
    const page = await signInUnaided('ann')
    await page.goto(site.baseUrl + address)
    await page.getByRole('button', { name: 'Join channel' }).click()
    await page.clock.install()
    const lost = Promise.withResolvers<void>()
    let sent = 0
    await page.route('**/messages', async (route) => {
      if (route.request().method() !== 'POST' || ++sent > 1) await route.continue()
      else lost.resolve()
    })
    const box = composer(page, channel.name)
    await box.fill('is anybody there?')
    await box.press('Enter')
    await lost.promise
    await article(page, 'is anybody there?').getByText('Sending…').waitFor()
    await page.clock.runFor(61_000)
    await article(page, 'is anybody there?').getByText('Sending…').waitFor({ state: 'detached' })
  })

  linkFailureJourneys(site)
  fileFailureJourneys(site)
  loadingFailureJourneys(site)
  readingFailureJourneys(site)
  adminFailureJourneys(site)
})
