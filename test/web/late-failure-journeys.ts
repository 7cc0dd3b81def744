import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { createFailing } from './failing.ts'
import type { Site } from './site.ts'
import { article, composer, openChannel, removeStores, untilDrawn } from './visitors.ts'

/** A response that comes late, or not at all, does not disturb what the person does meanwhile. */
export function lateFailureJourneys(site: Site) {
  const { signIn } = site
  const { signInUnaided, meet } = createFailing(site)

  /** Sends a held request, and waits until the page has rendered the response. */
  async function continueUntilRendered(page: Page, route: Route, pattern: RegExp) {
    const [response] = await Promise.all([page.waitForResponse(pattern), route.continue()])
    await response.finished()
    await untilDrawn(page)
  }

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
    await continueUntilRendered(page, route, pattern)
    expect(new URL(page.url()).pathname).toBe('/preferences')
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
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
    await continueUntilRendered(page, route, created)
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
    // The clock of the page stands still, because a press holds the list back only for a moment.
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
    await continueUntilRendered(page, route, pattern)
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
}
