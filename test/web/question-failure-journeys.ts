import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { createFailing } from './failing.ts'
import type { Site } from './site.ts'
import { hasFocus, isAccessible } from './visitors.ts'

/** Questions before something is removed, when the response is late or a refusal. */
export function questionFailureJourneys(site: Site) {
  const { signInUnaided } = createFailing(site)

  const refused = (route: Route) => route.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })

  /** Keeps the requests of this method, until the test responds to them. */
  async function holdRequests(page: Page, pattern: string, method = 'DELETE') {
    const held: Route[] = []
    await page.route(pattern, (route) =>
      route.request().method() === method ? void held.push(route) : route.fallback(),
    )
    return held
  }

  async function openWebhooks(...names: string[]) {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name: `hooked ${randomUUID().slice(0, 8)}` })
    const ids: string[] = []
    for (const name of names) ids.push((await admin.post('/webhooks', { name, channelId: channel.id })).body.webhook.id)
    const page = await signInUnaided('admin')
    await page.goto(`${site.baseUrl}/admin/webhooks`)
    const row = (name: string) => page.getByRole('row', { name })
    const question = page.getByRole('dialog', { name: 'Remove webhook' })
    const confirm = question.getByRole('button', { name: 'Remove', exact: true })
    return { admin, page, ids, row, question, confirm }
  }

  /** Asks to remove something of this row, from its menu or with its button. */
  async function ask(page: Page, name: string, task: string) {
    const row = page.getByRole('row').filter({ hasText: name })
    const menu = row.getByRole('button', { name: /^Actions for/ })
    await row.waitFor()
    if ((await menu.count()) > 0) {
      await menu.click()
      await page.getByRole('menuitem', { name: task, exact: true }).click()
    } else await row.getByRole('button', { name: task, exact: true }).click()
  }

  test('the menu of the sidebar asks before a private channel is left, and shows why that was refused', async () => {
    const wim = await Person.signIn(site.baseUrl, 'wim@example.com')
    const name = `walled garden ${randomUUID().slice(0, 8)}`
    await wim.creates({ name, isPrivate: true })
    const page = await signInUnaided('wim')
    // The menu is in a part that is loaded after the first view.
    await Promise.all([page.waitForResponse((response) => response.url().endsWith('/saved/ids')), page.reload()])
    const row = page.getByRole('navigation', { name: 'Channels' }).getByRole('link', { name })
    await row.click()
    const held = await holdRequests(page, '**/leave', 'POST')
    await row.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Leave channel' }).click()
    const question = page.getByRole('dialog', { name: 'Leave channel' })
    const leave = question.getByRole('button', { name: 'Leave', exact: true })
    await leave.click()
    await expect.poll(() => held.length).toBe(1)
    await refused(held[0]!)
    await question.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await leave.click()
    await expect.poll(() => held.length).toBe(2)
    await held[1]!.continue()
    await question.waitFor({ state: 'detached' })
    await row.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
  })

  test('only a private channel asks before members and groups are removed, and the focus stays in its dialog', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const handle = `choir-${randomUUID().slice(0, 8)}`
    const [alto, bass] = [`alto-${handle}`, `bass-${handle}`]
    const members: string[] = []
    for (const name of [alto, bass]) members.push((await Person.signIn(site.baseUrl, `${name}@example.com`)).id)
    const { group } = (await owner.post('/groups', { handle, name: 'Choir' })).body
    const page = await signInUnaided('admin')
    const channels: string[] = []
    for (const isPrivate of [true, false]) {
      const { id } = await owner.creates({ name: `${handle} ${isPrivate}`, members, isPrivate })
      await owner.put(`/channels/${id}`, { groups: [group.id] })
      channels.push(id)
    }
    const isMember = async (channelId: string, person = members[0]) =>
      (await owner.get(`/channels/${channelId}`)).body.channel.members.includes(person)
    const button = (name: string) => page.getByRole('button', { name: `Remove ${name}`, exact: true })
    const question = page.getByRole('dialog', { name: /^Remove (member|group)$/ })
    const open = async (id: string) => {
      await page.goto(`${site.baseUrl}/c/${id}`)
      await page.getByRole('button', { name: 'Channel settings' }).click()
    }

    const [closed, joinable] = channels as [string, string]
    await open(closed)
    await button(alto).press('Enter')
    await question.getByText(`Only somebody who manages it can add ${alto} again`).waitFor()
    await isAccessible(page)
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    await hasFocus(button(alto))
    expect(await isMember(closed)).toBe(true)
    await page.keyboard.press('Enter')
    await question.getByRole('button', { name: 'Remove', exact: true }).press('Enter')
    await question.waitFor({ state: 'detached' })
    await button(alto).waitFor({ state: 'detached' })
    await hasFocus(button(bass))
    expect(await isMember(closed)).toBe(false)
    await button(bass).press('Enter')
    await question.getByRole('button', { name: 'Remove', exact: true }).press('Enter')
    await button(bass).waitFor({ state: 'detached' })
    await hasFocus(page.getByRole('button', { name: 'Add a member' }))
    await button(handle).press('Enter')
    await question.getByText(`Members who are in it only through @${handle} leave it`).waitFor()
    await question.getByRole('button', { name: 'Remove', exact: true }).press('Enter')
    await button(handle).waitFor({ state: 'detached' })
    await hasFocus(page.getByRole('button', { name: 'Add a group' }))

    await open(joinable)
    await button(alto).press('Enter')
    await button(alto).waitFor({ state: 'detached' })
    await button(handle).press('Enter')
    await button(handle).waitFor({ state: 'detached' })
    expect(await isMember(joinable)).toBe(false)
  })

  test('a question waits for the response, shows why the request was refused, and can be confirmed again', async () => {
    const { page, row, question, confirm } = await openWebhooks('weathervane')
    const held = await holdRequests(page, '**/webhooks/*')
    await ask(page, 'weathervane', 'Remove')
    await confirm.click()
    await expect.poll(() => held.length).toBe(1)
    expect(await confirm.getAttribute('aria-busy')).toBe('true')
    await confirm.press('Enter')
    await refused(held[0]!)
    await question.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    expect([held.length, await confirm.getAttribute('aria-busy')]).toEqual([1, null])
    await confirm.click()
    await expect.poll(() => held.length).toBe(2)
    expect(await question.getByRole('alert').count()).toBe(0)
    await held[1]!.continue()
    await question.waitFor({ state: 'detached' })
    await row('weathervane').waitFor({ state: 'detached' })
  })

  test('a refusal that comes after the question was closed is shown, and closes nothing', async () => {
    const { page, confirm } = await openWebhooks('sundial')
    const held = await holdRequests(page, '**/webhooks/*')
    for (const respond of [refused, (route: Route) => route.continue()]) {
      await ask(page, 'sundial', 'Remove')
      await confirm.click()
      await expect.poll(() => held.length).toBe(1)
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Create webhook' }).click()
      const creating = page.getByRole('dialog', { name: 'Create webhook' })
      await creating.waitFor()
      await respond(held.pop()!)
      if (respond === refused) await creating.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
      else await page.getByRole('row').filter({ hasText: 'sundial' }).waitFor({ state: 'detached' })
      await creating.getByLabel('Name').waitFor()
      await page.keyboard.press('Escape')
    }
  })

  test('a question whose row is removed before the response leaves the focus on the page', async () => {
    const { admin, page, ids, row, question, confirm } = await openWebhooks('barometer', 'hygrometer')
    const held = await holdRequests(page, '**/webhooks/*')
    await row('barometer').getByRole('button', { name: 'Remove' }).press('Enter')
    await confirm.press('Enter')
    await expect.poll(() => held.length).toBe(1)
    await admin.delete(`/webhooks/${ids[0]}`)
    await page.getByRole('row').filter({ hasText: 'barometer' }).waitFor({ state: 'detached' })
    await held[0]!.fulfill({ json: {} })
    await question.waitFor({ state: 'detached' })
    const isOnPage = () => page.evaluate(() => document.activeElement!.closest('main') !== null)
    await expect.poll(isOnPage).toBe(true)
  })

  test('every question of the pages for admins shows in itself why its request was refused', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const handle = `crew-${randomUUID().slice(0, 8)}`
    await admin.post('/groups', { handle, name: 'Crew' })
    const { bot } = (await admin.post('/bots', { userName: `bot-${handle}` })).body
    const url = `https://receiver.example/${handle}`
    await admin.post('/commands', { botId: bot.id, name: handle, url, usageHint: '', description: '' })
    await admin.post('/subscriptions', { botId: bot.id, url, events: ['NEW_MESSAGE'] })
    await admin.post('/admin/scim-clients', { name: handle })
    const person = await Person.signIn(site.baseUrl, `${handle}@example.com`)
    const page = await signInUnaided('admin')
    const refuse = (route: Route) => (route.request().method() === 'GET' ? route.fallback() : refused(route))
    for (const pattern of ['groups', 'bots', 'commands', 'subscriptions', 'admin/scim-clients'])
      await page.route(`**/${pattern}/*`, refuse)
    for (const path of ['', '/active', '/second-factors']) await page.route(`**/users/${person.id}${path}`, refuse)
    for (const [view, name, task, confirmation] of [
      ['groups', `@${handle}`, 'Delete', 'Delete'],
      ['bots', bot.userName, 'Remove', 'Remove'],
      ['commands', `/${handle}`, 'Delete', 'Delete'],
      ['subscriptions', url, 'Delete', 'Delete'],
      ['scim', handle, 'Remove', 'Remove'],
      ['people', `${handle}@`, 'Remove', 'Remove'],
      ['people', `${handle}@`, 'Deactivate', 'Deactivate'],
      ['people', `${handle}@`, 'Remove second factors', 'Remove'],
    ] as const) {
      await page.goto(`${site.baseUrl}/admin/${view}`)
      await ask(page, name, task)
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: confirmation, exact: true }).click()
      await dialog.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('alert').waitFor({ state: 'detached' })
    }
  })
}
