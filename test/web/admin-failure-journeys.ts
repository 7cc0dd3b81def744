import { randomUUID } from 'node:crypto'
import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { createFailing, unavailable } from './failing.ts'
import type { Site } from './site.ts'
import { untilDrawn } from './visitors.ts'

/** Forms and the pages for admins, when responses are missing or late. */
export function adminFailureJourneys(site: Site) {
  const { signIn } = site
  const { signInUnaided } = createFailing(site)

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
    await untilDrawn(page)
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

  test('the buttons that test a provider and look for deliveries keep the focus, and send nothing while they are busy', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { bot } = (await owner.post('/bots', { userName: `courier ${randomUUID().slice(0, 8)}` })).body
    const url = `https://receiver.example/${bot.id}`
    await owner.post('/subscriptions', { botId: bot.id, url, events: ['NEW_MESSAGE'] })
    const page = await signInUnaided('admin')
    const sso = { id: 'harbour', name: 'Harbour', protocol: 'openid', callbackUrl: 'https://parley.example/callback' }
    await page.route('**/admin/sso', (route) => route.fulfill({ json: { providers: [sso] } }))
    const held: Route[] = []
    /** Presses twice by key, and responds to the only request. */
    const pressTwice = async (name: string, respond: (route: Route) => Promise<void>) => {
      const button = page.getByRole('button', { name })
      await button.press('Enter')
      await expect.poll(() => held.length).toBe(1)
      await page.keyboard.press('Enter')
      await respond(held[0]!)
      await expect.poll(() => button.getAttribute('aria-busy')).toBe(null)
      expect([held.length, await button.evaluate((element) => element === document.activeElement)]).toEqual([1, true])
      held.length = 0
    }
    await page.route('**/admin/sso/harbour/test', (route) => void held.push(route))
    await page.goto(`${site.baseUrl}/admin/sign-in`)
    await pressTwice('Test this provider', unavailable)
    await page.getByRole('alert').waitFor()

    await page.goto(`${site.baseUrl}/admin/subscriptions`)
    await page.getByRole('button', { name: `Actions for ${url}` }).click()
    await page.getByRole('menuitem', { name: 'Deliveries' }).click()
    await page.getByText('Nothing was sent in the last days.').waitFor()
    await page.route('**/deliveries?*', (route) => void held.push(route))
    await pressTwice('Look again', (route) => route.continue())
  })

  test('a member whose button is pressed twice is removed by one request, and the focus stays in the dialog', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const stowaway = await Person.signIn(site.baseUrl, 'stowaway@example.com')
    const handle = `deck-${randomUUID().slice(0, 8)}`
    const { group } = (await owner.post('/groups', { handle, name: handle })).body
    await owner.put(`/groups/${group.id}/members`, { add: [stowaway.id] })
    const page = await signInUnaided('admin')
    await page.goto(`${site.baseUrl}/admin/groups`)
    await page.getByRole('button', { name: `Actions for ${handle}` }).click()
    await page.getByRole('menuitem', { name: 'Members' }).click()
    const held: Route[] = []
    await page.route('**/groups/*/members', (route) => void held.push(route))
    const button = page.getByRole('button', { name: `Remove ${stowaway.userName}` })
    await button.press('Enter')
    await expect.poll(() => held.length).toBe(1)
    await page.keyboard.press('Enter')
    for (const route of held) await route.continue()
    await button.waitFor({ state: 'detached' })
    expect(held.length).toBe(1)
    await expect.poll(() => page.evaluate(() => document.activeElement!.closest('dialog') !== null)).toBe(true)
  })

  test('of two quick changes of a role the last one wins, and the row shows it before the responses', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const name = `purser-${randomUUID().slice(0, 8)}`
    const purser = await Person.signIn(site.baseUrl, `${name}@example.com`)
    const page = await signInUnaided('admin')
    await page.goto(`${site.baseUrl}/admin/people`)
    await page.getByRole('searchbox', { name: 'Find a person' }).fill(name)
    const role = page.getByRole('row').filter({ hasText: name }).getByRole('combobox', { name: 'Role' })
    const held: Route[] = []
    const sent: string[] = []
    await page.route(`**/users/${purser.id}/role`, (route) => {
      held.push(route)
      sent.push(route.request().postDataJSON().role)
    })
    const respond = async () => {
      await expect.poll(() => held.length).toBe(1)
      await held.pop()!.continue()
    }
    const isAdmin = async () => (await owner.get(`/users?ids=${purser.id}`)).body.users[0].isAdmin
    await role.selectOption('admin')
    await expect.poll(() => sent).toEqual(['admin'])
    await role.selectOption('member')
    // Whatever the page sends at once, it has sent before this.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(sent).toEqual(['admin'])
    await respond()
    await expect.poll(() => sent).toEqual(['admin', 'member'])
    expect([await isAdmin(), await role.inputValue()]).toEqual([true, 'member'])
    await respond()
    await expect.poll(isAdmin).toBe(false)
    expect(await role.inputValue()).toBe('member')

    // After a refusal the row shows the role that the person has.
    await role.selectOption('admin')
    await expect.poll(() => held.length).toBe(1)
    await held.pop()!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await expect.poll(() => role.inputValue()).toBe('member')
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
    await untilDrawn(page)
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
    await untilDrawn(page)
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
    await untilDrawn(page)
    expect(await page.getByRole('row').count()).toBeLessThan(2)
  })
}
