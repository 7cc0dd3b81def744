import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { channels, hasFocus, isAccessible } from './visitors.ts'

/** Chooses an item from the menu of a row. */
async function choose(page: Page, row: string | RegExp, item: string) {
  await page
    .getByRole('row', { name: row })
    .getByRole('button', { name: /^Actions for/ })
    .click()
  await page.getByRole('menuitem', { name: item, exact: true }).click()
}

async function confirm(page: Page, dialog: string, action: string) {
  await page.getByRole('dialog', { name: dialog }).getByRole('button', { name: action, exact: true }).click()
  await page.getByRole('dialog', { name: dialog }).waitFor({ state: 'detached' })
}

/** Creates an API token, and returns the secret, which is shown once in a read-only field. */
async function createToken(page: Page, name: string, scope: string) {
  await page.getByRole('button', { name: 'Create token' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create token' })
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('combobox', { name: 'Scope' }).selectOption(scope)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue()
  await isAccessible(page)
  await dialog.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })
  return token
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The work of admins with people, groups and programs. Elements are found by role and name. */
export function administrationJourneys(site: Site) {
  const { signIn } = site
  test('an admin makes people guests, deactivates them, and ends their sessions and tokens', async () => {
    const ida = await signIn('ida', '/tokens')
    const token = await createToken(ida, 'report', 'Read')
    const whoAmI = () => Person.nobody(site.baseUrl).get('/auth/me', bearer(token))
    expect(await whoAmI()).toMatchObject({ status: 200, body: { user: { userName: 'ida' } } })

    const admin = await signIn('admin', '/admin/people', { withoutWorker: true })
    const row = admin.getByRole('row', { name: /ida@example\.com/ })
    await row.getByRole('combobox', { name: 'Role' }).selectOption('Guest')
    const guest = admin.getByRole('dialog', { name: 'Guest' })
    await guest.getByLabel('Last day').fill('2020-01-01')
    await guest.getByRole('button', { name: 'Make a guest' }).click()
    await guest.getByRole('alert').waitFor()
    await admin.keyboard.press('Escape')
    await guest.waitFor({ state: 'detached' })
    await expect.poll(() => row.getByRole('combobox', { name: 'Role' }).inputValue()).toBe('member')
    await row.getByRole('combobox', { name: 'Role' }).selectOption('Guest')
    await guest.getByLabel('Last day').fill('2035-12-31')
    await guest.getByRole('button', { name: 'Make a guest' }).click()
    await expect.poll(() => row.getByRole('combobox', { name: 'Role' }).inputValue()).toBe('guest')
    await row.getByText('Until 31 Dec 2035').waitFor()
    await ida.getByRole('button', { name: 'Account' }).click()
    await ida.getByRole('menuitem', { name: 'Profile' }).click()
    await expect.poll(() => ida.getByLabel('Last day').inputValue()).toBe('31 Dec 2035')

    await choose(admin, /ida@/, 'Sessions and API tokens')
    const access = admin.getByRole('dialog', { name: 'Access of ida' })
    await access
      .getByRole('row', { name: /report/ })
      .getByRole('button', { name: 'Revoke' })
      .click()
    await confirm(admin, 'Revoke token', 'Revoke')
    await access.getByText('There are no API tokens.').waitFor()
    expect((await whoAmI()).status).toBe(401)
    await isAccessible(admin)
    await access.getByRole('button', { name: 'End all sessions' }).click()
    await access.getByText('There are no sessions.').waitFor()
    await ida.getByRole('button', { name: 'Sign in' }).waitFor()
    await admin.keyboard.press('Escape')

    await choose(admin, /ida@/, 'Deactivate')
    await confirm(admin, 'Deactivate', 'Deactivate')
    await row.getByText('Deactivated').waitFor()
    await isAccessible(admin)
    const refused = await Person.nobody(site.baseUrl).post('/auth/dev-login', { email: 'ida@example.com' })
    expect(refused.status).toBe(403)
    await admin.goto(`${site.baseUrl}/admin/people`)
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('ida@')
    await row.getByText('Deactivated').waitFor()

    // The response of a search comes after a change, and has the old values. The page searches again.
    const search = /\/users\?q=ida%40example&.*isActive=false/
    const held = Promise.withResolvers<() => Promise<void>>()
    const again = Promise.withResolvers<void>()
    let searches = 0
    await admin.route(search, async (route) => {
      const response = await route.fetch()
      if (++searches === 1) return held.resolve(() => route.fulfill({ response }))
      await route.fulfill({ response })
      again.resolve()
    })
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('ida@example')
    const release = await held.promise
    await choose(admin, /ida@/, 'Reactivate')
    await row.getByText('Deactivated').waitFor({ state: 'detached' })
    await release()
    await again.promise
    await row.getByText('Deactivated').waitFor({ state: 'detached' })
    // The page may search once more.
    await admin.unrouteAll({ behavior: 'wait' })
  })

  test('the focus of an admin with a keyboard stays in a table whose row was removed, and actions without a visible effect are told', async () => {
    for (const name of ['uma', 'vera']) await Person.signIn(site.baseUrl, `${name}-leaves@example.com`)
    const admin = await signIn('admin', '/admin/people')
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('leaves')
    const [uma, vera] = ['uma', 'vera'].map((name) => admin.getByRole('button', { name: `Actions for ${name}` }))
    await expect.poll(() => admin.getByRole('button', { name: /^Actions for/ }).count()).toBe(2)
    await vera!.press('Enter')
    await admin.getByRole('menuitem', { name: 'Set a new password' }).press('Enter')
    await admin.getByRole('dialog').getByLabel('New password').fill('correct horse battery')
    await admin.keyboard.press('Enter')
    await admin.getByText('vera-leaves has a new password').waitFor()
    await vera!.press('Enter')
    await admin.getByRole('menuitem', { name: 'Remove', exact: true }).press('Enter')
    const dialog = admin.getByRole('dialog', { name: 'Remove person' })
    await dialog.getByRole('button', { name: 'Remove' }).press('Enter')
    await vera!.waitFor({ state: 'detached' })
    await hasFocus(uma!)

    await admin.goto(`${site.baseUrl}/tokens`)
    await createToken(admin, 'short-lived', 'Read')
    const row = admin.getByRole('row', { name: /short-lived/ })
    await row.getByRole('button', { name: 'Revoke' }).press('Enter')
    await admin.getByRole('dialog', { name: 'Revoke token' }).getByRole('button', { name: 'Revoke' }).press('Enter')
    await row.waitFor({ state: 'detached' })
    await expect.poll(() => admin.evaluate(() => document.activeElement === document.body)).toBe(false)
  })

  test('a person with a keyboard keeps the focus when they end a session, on their page and in the dialog of an admin', async () => {
    for (const name of ['wim', 'wim', 'admin']) await Person.signIn(site.baseUrl, `${name}@example.com`)
    const admin = await signIn('admin', '/sessions')
    const buttons = admin.getByRole('button', { name: 'End session' })
    const focused = () => admin.evaluate(() => document.activeElement!.tagName)
    const endByKey = async () => {
      await buttons.first().waitFor()
      const count = await buttons.count()
      await buttons.last().press('Enter')
      await expect.poll(() => buttons.count()).toBe(count - 1)
      expect(await focused()).not.toBe('BODY')
    }
    await endByKey()
    await admin.goto(`${site.baseUrl}/admin/people`)
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('wim')
    await admin.getByRole('button', { name: 'Actions for wim' }).press('Enter')
    await admin.getByRole('menuitem', { name: 'Sessions and API tokens' }).press('Enter')
    await endByKey()
    await admin.getByRole('button', { name: 'End all sessions' }).press('Enter')
    await admin.getByText('There are no sessions.').waitFor()
    expect(await focused()).not.toBe('BODY')
  })

  test('a key that is pressed twice before the first frame of a menu loses no focus', async () => {
    const admin = await signIn('admin', '/admin/groups')
    await admin.getByRole('button', { name: 'Account' }).focus()
    await admin.evaluate(async () => {
      const press = () => (document.activeElement as HTMLElement).click()
      press()
      await new Promise((rendered) => setTimeout(rendered))
      press()
    })
    await admin.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
  })

  test('groups are in the order of their numbers', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const ids: string[] = []
    for (const handle of ['deck-10', 'deck-2', 'deck-1'])
      ids.push((await owner.post('/groups', { handle, name: handle })).body.group.id)
    onTestFinished(async () => {
      for (const id of ids) await owner.delete(`/groups/${id}`)
    })
    const admin = await signIn('admin', '/admin/groups')
    const handles = admin.getByRole('rowheader', { name: /^@deck/ })
    await expect.poll(() => handles.allTextContents()).toEqual(['@deck-1', '@deck-2', '@deck-10'])
  })

  test('an admin makes a group a member of a channel, and cannot change a group of a directory', async () => {
    const jon = await signIn('jon')
    const admin = await signIn('admin', '/admin/groups')
    await admin.getByRole('button', { name: 'Create group' }).click()
    const created = admin.getByRole('dialog', { name: 'Create group' })
    await created.getByLabel('Handle').fill('jon')
    await created.getByLabel('Name').fill('The whole crew')
    await created.getByRole('button', { name: 'Create', exact: true }).click()
    await created.getByRole('alert').waitFor()
    await created.getByLabel('Handle').fill('@crew')
    await created.getByRole('button', { name: 'Create', exact: true }).click()
    await admin.getByRole('row', { name: /@crew The whole crew 0/ }).waitFor()
    await choose(admin, /@crew/, 'Members')
    const members = admin.getByRole('dialog', { name: 'Members of @crew' })
    await members.getByRole('button', { name: 'Add a member' }).click()
    await admin.getByRole('dialog', { name: 'Add a member' }).getByRole('combobox').fill('jon')
    await admin.keyboard.press('Enter')
    await members.getByRole('button', { name: 'Remove jon' }).waitFor()
    await isAccessible(admin)
    await admin.keyboard.press('Escape')

    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { channel } = (await owner.post('/channels', { name: 'of the crew', isPrivate: true })).body
    await admin.goto(`${site.baseUrl}/c/${channel.id}`)
    await admin.getByRole('button', { name: 'Channel settings' }).click()
    await admin.getByRole('button', { name: 'Add a group' }).click()
    const picked = admin.getByRole('dialog', { name: 'Add a group' })
    await picked.getByRole('option', { name: /@crew/ }).click()
    await admin.getByRole('region', { name: 'Groups' }).getByRole('button', { name: 'Remove crew' }).waitFor()
    await channels(jon).getByRole('link', { name: 'of the crew' }).waitFor()
    await admin.getByRole('region', { name: 'Members' }).getByRole('button', { name: 'Remove jon' }).click()
    const removing = admin.getByRole('dialog', { name: 'Remove member' })
    await removing.getByRole('button', { name: 'Remove', exact: true }).click()
    await removing.getByRole('alert').filter({ hasText: 'This person stays a member' }).waitFor()

    await admin.goto(`${site.baseUrl}/admin/groups`)
    await choose(admin, /@crew/, 'Delete')
    await confirm(admin, 'Delete group', 'Delete')
    await admin.getByText('There are no groups yet.').waitFor()
    await channels(jon).getByRole('link', { name: 'of the crew' }).waitFor({ state: 'detached' })

    const { token } = (await owner.post('/admin/scim-clients', { name: 'crew directory' })).body
    const directory = Person.nobody(site.baseUrl)
    expect((await directory.post('/scim/v2/Groups', { displayName: 'Deck hands' }, bearer(token))).status).toBe(201)
    const kept = admin.getByRole('row', { name: /Deck hands/ })
    await kept.getByRole('button', { name: /^Actions for/ }).click()
    await admin.getByRole('menuitem', { name: 'Members' }).waitFor()
    expect(await admin.getByRole('menuitem').count()).toBe(1)
  })

  test('an admin creates a bot with tokens and a subscription, and a SCIM client', async () => {
    const admin = await signIn('admin', '/admin/bots')
    await admin.getByRole('button', { name: 'Create bot' }).click()
    await admin.getByRole('dialog', { name: 'Create bot' }).getByLabel('Name', { exact: true }).fill('rudder')
    await admin.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    // A bot needs a token, so its tokens are shown immediately.
    await admin.getByRole('dialog', { name: 'API tokens of rudder' }).waitFor()
    const token = await createToken(admin, 'steering', 'Read and write')
    await admin.keyboard.press('Escape')

    await admin.getByRole('link', { name: 'Subscriptions' }).click()
    await admin.getByRole('button', { name: 'Create subscription' }).click()
    const creating = admin.getByRole('dialog', { name: 'Create subscription' })
    await creating.getByLabel('URL').fill('http://127.0.0.1:1/events')
    await creating.getByRole('combobox', { name: 'Bot' }).selectOption('rudder')
    await creating.getByRole('combobox', { name: 'Format' }).selectOption('Slack')
    await creating.getByRole('checkbox', { name: 'app_mention' }).waitFor()
    await creating.getByRole('combobox', { name: 'Format' }).selectOption('Parley')
    await isAccessible(admin)
    await creating.getByRole('button', { name: 'Create', exact: true }).click()
    expect(await creating.getByRole('textbox', { name: 'Secret' }).inputValue()).toMatch(/^whsec_/)
    await creating.getByRole('button', { name: 'Close' }).click()
    const general = (await (await Person.signIn(site.baseUrl, 'admin@example.com')).get('/channels?q=General')).body
    const path = `/channels/${general.channels[0].id}/messages`
    const said = await Person.nobody(site.baseUrl).post(path, { content: 'steady as she goes' }, bearer(token))
    expect(said.status).toBe(200)

    await choose(admin, /127\.0\.0\.1/, 'Deliveries')
    const deliveries = admin.getByRole('dialog', { name: 'Deliveries' })
    const failed = deliveries.getByRole('row', { name: /NEW_MESSAGE 1 / })
    await expect
      .poll(async () => {
        await deliveries.getByRole('button', { name: 'Look again' }).click()
        return failed.count()
      })
      .toBeGreaterThan(0)
    await isAccessible(admin)
    await deliveries.getByRole('button', { name: 'Send again' }).click()
    await deliveries.getByText(/Those of this subscription are sent again/).waitFor()
    await admin.keyboard.press('Escape')
    await choose(admin, /127\.0\.0\.1/, 'Edit')
    const editing = admin.getByRole('dialog', { name: 'Edit subscription' })
    expect(await editing.getByRole('checkbox', { name: 'NEW_MESSAGE' }).isChecked()).toBe(true)
    await editing.getByRole('checkbox', { name: 'NEW_THREAD_REPLY' }).uncheck()
    await editing.getByLabel('URL').fill('http://127.0.0.1:1/other')
    await editing.getByRole('button', { name: 'Only some channels' }).click()
    await admin.getByRole('dialog', { name: 'Choose a channel' }).getByRole('combobox').fill('General')
    await admin.keyboard.press('Enter')
    await editing.getByRole('button', { name: 'Remove #General' }).waitFor()
    await isAccessible(admin)
    await editing.getByRole('button', { name: 'Save' }).click()
    await admin.getByRole('row', { name: /other rudder 2/ }).waitFor()
    await choose(admin, /127\.0\.0\.1/, 'Edit')
    await editing.getByRole('button', { name: 'Remove #General' }).click()
    await editing.getByRole('button', { name: 'Save' }).click()
    await editing.waitFor({ state: 'detached' })
    await choose(admin, /127\.0\.0\.1/, 'Edit')
    await editing.getByText('All that the bot may read').waitFor()
    await admin.keyboard.press('Escape')
    await choose(admin, /127\.0\.0\.1/, 'Pause')
    await admin.getByRole('row', { name: /rudder .*Paused/ }).waitFor()
    await choose(admin, /127\.0\.0\.1/, 'Delete')
    await confirm(admin, 'Delete subscription', 'Delete')
    await admin.getByText('There are no subscriptions yet.').waitFor()

    await admin.getByRole('link', { name: 'SCIM clients' }).click()
    await admin.getByRole('button', { name: 'Create SCIM client' }).click()
    const directory = admin.getByRole('dialog', { name: 'Create SCIM client' })
    await directory.getByLabel('Name').fill('the directory')
    await directory.getByRole('button', { name: 'Create', exact: true }).click()
    const scim = await directory.getByRole('textbox', { name: 'Token' }).inputValue()
    const provision = () => Person.nobody(site.baseUrl).get('/scim/v2/Users', bearer(scim))
    expect((await provision()).status).toBe(200)
    await directory.getByRole('button', { name: 'Close' }).click()
    await admin
      .getByRole('row', { name: /the directory/ })
      .getByRole('button', { name: 'Remove' })
      .click()
    await confirm(admin, 'Remove SCIM client', 'Remove')
    await admin.getByRole('row', { name: /the directory/ }).waitFor({ state: 'detached' })
    expect((await provision()).status).toBe(401)
  })

  test('after a reload an admin sees their last export, and can download it', async () => {
    const admin = await signIn('admin', '/admin/export')
    await admin.getByRole('button', { name: 'Export' }).click()
    await admin.getByText(/^Export of /).waitFor()
    await admin.reload()
    // Screen readers are told when the export is ready.
    const link = admin.getByRole('status').getByRole('link', { name: 'Download' })
    const [download] = await Promise.all([admin.waitForEvent('download'), link.click()])
    expect(download.suggestedFilename()).toBe('parley-export.json.gz')
    await isAccessible(admin)
  })

  test('a filter without results says so, and the audit log names removed people', async () => {
    await Person.signIn(site.baseUrl, 'gilda@example.com')
    const admin = await signIn('admin', '/admin/people')
    const outcome = admin.getByRole('status')
    const nothing = outcome.filter({ hasText: 'Nothing was found' })
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('nobody at all')
    await nothing.waitFor()
    await admin.getByRole('searchbox', { name: 'Find a person' }).fill('gilda@')
    await outcome.filter({ hasText: 'Shown results: 1' }).waitFor()
    await choose(admin, /gilda@/, 'Remove')
    await confirm(admin, 'Remove person', 'Remove')
    await nothing.waitFor()

    await admin.getByRole('link', { name: 'Audit log' }).click()
    const filters = admin.getByRole('form', { name: 'Filters' })
    await filters.getByLabel('Action').fill('no.action')
    await filters.getByRole('button', { name: 'Filter' }).click()
    await nothing.waitFor()
    await isAccessible(admin)
    await filters.getByLabel('Action').fill(' User.Remove')
    await filters.getByRole('button', { name: 'Filter' }).click()
    await admin.getByRole('row', { name: /user\.remove user gilda/ }).waitFor()
    await outcome.filter({ hasText: /Shown results: [1-9]/ }).waitFor()
  })

  test('the audit log names channels, groups and webhooks, and requests unknown channels only once', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const { group } = (await owner.post('/groups', { handle: 'caulkers', name: 'Caulkers' })).body
    const [gone, kept] = [await eve.creates({ name: 'the gone dock' }), await eve.creates({ name: 'the dry dock' })]
    // These entries have no name of the channel.
    for (const groups of [[group.id], []]) expect((await eve.put(`/channels/${kept.id}`, { groups })).status).toBe(200)
    await owner.post('/webhooks', { name: 'foghorn', channelId: kept.id })
    await eve.delete(`/channels/${gone.id}`)
    const admin = await signIn('admin', '/admin/audit', { withoutWorker: true })
    await admin.getByRole('row', { name: /channel\.delete channel the gone dock/ }).waitFor()
    await admin.getByRole('row', { name: /webhook\.create webhook foghorn/ }).waitFor()
    await admin.getByRole('row', { name: /group\.create group caulkers/ }).waitFor()

    const requests: string[] = []
    admin.on('request', (request) => requests.push(new URL(request.url()).pathname))
    const filters = admin.getByRole('form', { name: 'Filters' })
    await filters.getByLabel('Action').fill('channel.update')
    await filters.getByRole('button', { name: 'Filter' }).click()
    await admin.getByRole('row', { name: /channel\.delete/ }).waitFor({ state: 'detached' })
    const updated = admin.getByRole('row', { name: /channel\.update channel the dry dock/ })
    await expect.poll(() => updated.count()).toBe(2)
    expect(requests.filter((path) => path === '/channels')).toHaveLength(1)
    expect(await updated.first().locator('[title]').last().getAttribute('title')).toBe(kept.id)
  })

  test('a page that cannot be loaded shows an error', async () => {
    const admin = await signIn('admin', '/', { withoutWorker: true })
    await admin.context().route('**/assets/people*', (route) => route.abort())
    await admin.goto(`${site.baseUrl}/admin/people`)
    await admin.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await admin.getByRole('alert').getByRole('button', { name: 'Reload' }).waitFor()
  })
}
