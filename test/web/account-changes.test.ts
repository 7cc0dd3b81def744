import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { usualTopologies } from '../src/launch.ts'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import {
  act,
  article,
  channels,
  complaintsOf,
  composer,
  createChannel,
  hasFocus,
  openChannel,
  refuseMessages,
  say,
} from './visitors.ts'

const signInForm = (page: Page) => page.getByRole('button', { name: 'Sign in' })
async function signInAs(page: Page, name: string) {
  await page.getByLabel('Email').fill(`${name}@example.com`)
  await signInForm(page).click()
  await page.getByRole('button', { name: 'Account' }).waitFor()
}
async function signOut(page: Page) {
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
}
const notFound = (page: Page) => page.getByRole('heading', { level: 1, name: 'Not found' })

for (const topology of usualTopologies) {
  describeSite(`the web client while an account changes, ${topology}`, { topology, timeout: 120_000 }, (site) => {
    const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)
    const idOf = (page: Page) => page.evaluate(() => localStorage.getItem('parley.person')!)

    test('a person whom a directory deactivates is told so in all tabs, sees nothing any more, and finds their texts when they are activated', async () => {
      const admin = await person('admin')
      const { body: client } = await admin.post('/admin/scim-clients', { name: 'the directory' })
      const directorySetsActive = async (value: boolean) => {
        const response = await fetch(`${site.baseUrl}/scim/v2/Users/${id}`, {
          method: 'PATCH',
          headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/scim+json' },
          body: JSON.stringify({
            schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
            Operations: [{ op: 'Replace', path: 'active', value }],
          }),
        })
        expect(response.status).toBe(200)
      }
      const page = await site.signIn('cora')
      const id = await idOf(page)
      await createChannel(page, 'observatory')
      await say(page, 'observatory', 'a comet')
      const tab = await page.context().newPage()
      const complaints = complaintsOf(tab)
      await tab.goto(page.url())
      await article(tab, 'a comet').waitFor()
      await composer(page, 'observatory').fill('its tail is')
      const { conversation } = (await admin.post('/conversations', { targetUserId: id })).body
      await admin.post(`/conversations/${conversation.id}/messages`, { content: 'one more thing' })
      const hasDot = (each: Page) => each.locator('link[rel=icon]').getAttribute('data-marked')
      for (const each of [page, tab]) await expect.poll(() => hasDot(each)).toBe('true')
      await act(page, 'a comet', 'Edit')
      await page.getByRole('textbox', { name: 'Edit message' }).fill('a green comet')
      await directorySetsActive(false)
      for (const each of [page, tab]) {
        await each.getByRole('status').filter({ hasText: 'This account is deactivated' }).waitFor()
        expect(await each.getByRole('article').count()).toBe(0)
        expect(await each.title()).toBe('Parley')
        await expect.poll(() => hasDot(each)).toBe('false')
      }
      await page.getByLabel('Email').fill('cora@example.com')
      await signInForm(page).click()
      await page.getByRole('alert').filter({ hasText: 'This account is deactivated' }).waitFor()

      await directorySetsActive(true)
      await signInAs(page, 'cora')
      await expect.poll(() => composer(page, 'observatory').inputValue()).toBe('its tail is')
      await expect.poll(() => page.getByRole('textbox', { name: 'Edit message' }).inputValue()).toBe('a green comet')
      await article(tab, 'a comet')
        .or(tab.getByRole('textbox', { name: 'Edit message' }))
        .first()
        .waitFor()
      expect(complaints).toEqual([])
    })

    test('a person who is a guest for some time finds the open channel again, which they have not joined', async () => {
      const admin = await person('admin')
      const channel = await admin.creates({ name: 'greenhouse' })
      await admin.says('the figs are ripe', channel)
      const page = await site.signIn('dirk', `/c/${channel.id}`)
      await article(page, 'the figs are ripe').waitFor()
      const id = await idOf(page)
      await admin.put(`/users/${id}/role`, { role: 'guest' })
      await notFound(page).waitFor()
      expect(await page.getByText('the figs are ripe').count()).toBe(0)
      await admin.put(`/users/${id}/role`, { role: 'member' })
      await article(page, 'the figs are ripe').waitFor()
      await composer(page, 'greenhouse').waitFor()
    })

    test.each(['lost', 'deleted'])(
      'drafts in a channel that was %s have one link after a reload, until they are discarded',
      async (how) => {
        const owner = await person('admin')
        const nils = await person('nils')
        const channel = await owner.creates({ name: `cabin ${how}`, isPrivate: true, members: [nils.id] })
        const { id } = await owner.says('who has the map?', channel)
        const page = await site.signIn('nils', `/c/${channel.id}/t/${id}`)
        await page.getByRole('textbox', { name: 'Reply' }).fill('not I')
        await composer(page, channel.name).fill('we need a compass')
        if (how === 'deleted') await owner.delete(`/channels/${channel.id}`)
        else await owner.put(`/channels/${channel.id}`, { removeMembers: [nils.id] })
        await notFound(page).waitFor()
        await page.goto(`${site.baseUrl}/profile`)
        const link = channels(page).getByRole('link', { name: 'Unsent text' })
        await link.click()
        await notFound(page).waitFor()
        await link.and(page.locator('[aria-current=page]')).waitFor()
        const texts = page.getByRole('textbox', { name: 'Your unsent text' })
        const values = () => texts.evaluateAll((boxes: HTMLTextAreaElement[]) => boxes.map(({ value }) => value))
        await expect.poll(values).toEqual(['we need a compass', 'not I'])
        await page.getByRole('button', { name: 'Discard' }).last().click()
        await expect.poll(values).toEqual(['we need a compass'])
        await link.waitFor()
        await page.getByRole('button', { name: 'Discard' }).click()
        await link.waitFor({ state: 'detached' })
      },
    )

    test('a conversation says that the other person is deactivated, who is not online', async () => {
      const admin = await person('admin')
      const edda = await person('edda')
      const stream = await edda.opensStream()
      const fritz = await person('fritz')
      const { conversation } = (await fritz.post('/conversations', { targetUserId: edda.id })).body
      const page = await site.signIn('fritz', `/c/${conversation.id}`)
      await say(page, 'edda', 'are you there?')
      const row = page.getByRole('navigation', { name: 'Direct messages' }).getByRole('listitem')
      await row.getByTitle('Online').waitFor()
      const hint = page.getByRole('main').getByText('This person is deactivated')
      expect(await hint.count()).toBe(0)
      await admin.put(`/users/${edda.id}/active`, { isActive: false })
      await hint.waitFor()
      expect(await row.getByTitle('Online').count()).toBe(0)
      await page.getByRole('main').getByRole('heading', { level: 1, name: 'edda' }).waitFor()
      await stream.ended
      await admin.put(`/users/${edda.id}/active`, { isActive: true })
      await hint.waitFor({ state: 'detached' })
    })
  })
}

describeSite('the web client while a session changes', { timeout: 120_000 }, (site) => {
  const endElsewhere = async (name: string) => {
    const elsewhere = await Person.signIn(site.baseUrl, `${name}@example.com`)
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
  }
  const editor = (page: Page) => page.getByRole('textbox', { name: 'Edit message' })

  test('an edit that is not saved opens again after another sign-in, but not for somebody else, and a sign-out forgets it', async () => {
    const page = await site.signIn('agda')
    await createChannel(page, 'bakery')
    await say(page, 'bakery', 'the bread is ready')
    await act(page, 'the bread is ready', 'Edit')
    await editor(page).fill('the bread is ready at noon')
    await endElsewhere('agda')
    await signInForm(page).waitFor()
    await signInAs(page, 'bela')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(await editor(page).count()).toBe(0)
    await endElsewhere('bela')
    await signInForm(page).waitFor()
    await signInAs(page, 'agda')
    await openChannel(page, 'bakery')
    await expect.poll(() => editor(page).inputValue()).toBe('the bread is ready at noon')
    await hasFocus(composer(page, 'bakery'))

    await page.reload()
    await expect.poll(() => editor(page).inputValue()).toBe('the bread is ready at noon')
    await hasFocus(composer(page, 'bakery'))
    await editor(page).press('Enter')
    await article(page, 'the bread is ready at noon').getByText('edited').waitFor()
    await page.reload()
    await article(page, 'the bread is ready at noon').waitFor()
    expect(await editor(page).count()).toBe(0)

    await act(page, 'the bread is ready', 'Edit')
    await editor(page).fill('the bread is gone')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await signInForm(page).waitFor()
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('the bread is gone')
  })
  test('a tab that hears late of a sign-out in another tab does not say that the session has ended by itself', async () => {
    const page = await site.signIn('gaby', '/', { withoutWorker: true })
    await createChannel(page, 'pantry')
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    await tab.goto(page.url())
    await composer(tab, 'pantry').waitFor()
    // The tab does nothing until this request has its response.
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    await tab.route('**/held', async (route) => {
      asked.resolve()
      await released.promise
      await route.fulfill({ body: '' })
    })
    const held = tab.evaluate(() => {
      const request = new XMLHttpRequest()
      request.open('GET', '/held', false)
      request.send()
    })
    await asked.promise
    await signOut(page)
    await signInForm(page).waitFor()
    released.resolve()
    await held
    await signInForm(tab).waitFor()
    await tab.getByRole('status').filter({ hasText: 'Your session has ended' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])

    // The next end is one by itself.
    await signInAs(page, 'gaby')
    await endElsewhere('gaby')
    await page.getByRole('status').filter({ hasText: 'Your session has ended' }).waitFor()
  })

  test('a person whose cookie has expired is told that the session has ended', async () => {
    const page = await site.signIn('kira', '/', { withoutWorker: true })
    await page.context().clearCookies()
    await page.reload()
    await signInForm(page).waitFor()
    expect(await page.getByRole('status').allInnerTexts()).toContain('Your session has ended. Please sign in again')
  })

  test('a tab that opens a channel after another tab has saved an edit of its message does not open the editor', async () => {
    const page = await site.signIn('lena', '/', { withoutWorker: true })
    await createChannel(page, 'orchard')
    await say(page, 'orchard', 'the pears are ripe')
    await act(page, 'the pears are ripe', 'Edit')
    await editor(page).fill('the pears are eaten')
    const tab = await page.context().newPage()
    await tab.goto(site.baseUrl)
    await openChannel(tab, 'General')
    await editor(page).press('Enter')
    await article(page, 'the pears are eaten').waitFor()
    await openChannel(tab, 'orchard')
    await article(tab, 'the pears are eaten').or(editor(tab)).first().waitFor()
    expect(await editor(tab).count()).toBe(0)
  })

  test('a message that was refused in a channel that is lost has a link after a reload, until it is discarded', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const ivar = await Person.signIn(site.baseUrl, 'ivar@example.com')
    const channel = await owner.creates({ name: 'crypt', isPrivate: true, members: [ivar.id] })
    const page = await site.signIn('ivar', `/c/${channel.id}`, { withoutWorker: true })
    await refuseMessages(page)
    await ivar.says('it is dark', channel)
    await act(page, 'it is dark', 'Edit')
    await editor(page).fill('it is very dark')
    const removed = await ivar.says('it is cold', channel)
    await act(page, 'it is cold', 'Edit')
    await editor(page).fill('it is very cold')
    await ivar.delete(`/messages/${removed.id}`)
    await article(page, 'it is cold').waitFor({ state: 'detached' })
    await composer(page, 'crypt').fill('bring a lamp')
    await composer(page, 'crypt').press('Enter')
    await page.getByRole('article', { name: 'Not sent' }).waitFor()
    const link = channels(page).getByRole('link', { name: 'Unsent text' })
    await owner.put(`/channels/${channel.id}`, { removeMembers: [ivar.id] })
    await notFound(page).waitFor()
    await page.goto(`${site.baseUrl}/profile`)
    await link.click()
    await notFound(page).waitFor()
    const texts = page.getByRole('textbox', { name: 'Your unsent text' })
    const values = () => texts.evaluateAll((boxes: HTMLTextAreaElement[]) => boxes.map(({ value }) => value))
    await expect.poll(values).toEqual(['it is very dark', 'bring a lamp'])
    await page.getByRole('button', { name: 'Discard' }).last().click()
    await expect.poll(values).toEqual(['it is very dark'])
    await link.waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await link.waitFor({ state: 'detached' })
  })

  test('an unsaved edit in a channel that the person has left has a link to its editor, but not while the channel is open', async () => {
    const mona = await Person.signIn(site.baseUrl, 'mona@example.com')
    const channel = await mona.creates({ name: 'attic' })
    await mona.says('an old chair', channel)
    await mona.post(`/channels/${channel.id}/leave`, {})
    const page = await site.signIn('mona', `/c/${channel.id}`, { withoutWorker: true })
    await page.getByRole('button', { name: 'Join channel' }).waitFor()
    await act(page, 'an old chair', 'Edit')
    await editor(page).fill('an old table')
    const link = channels(page).getByRole('link', { name: 'Unsent text' })
    await openChannel(page, 'General')
    await link.click()
    await expect.poll(() => editor(page).inputValue()).toBe('an old table')
    expect(await channels(page).locator('[aria-current=page]').allInnerTexts()).toEqual(['attic'])
  })

  test('the link to a refused reply in a channel that the person has left leads to its thread', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await owner.creates({ name: 'loft' })
    const { id } = await owner.says('who has the ladder?', channel)
    const page = await site.signIn('orla', `/c/${channel.id}/t/${id}`, { withoutWorker: true })
    await page.route('**/messages/*/thread', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
        : route.fallback(),
    )
    await page.getByRole('textbox', { name: 'Reply' }).fill('it is in the yard')
    await page.getByRole('textbox', { name: 'Reply' }).press('Enter')
    const refused = page.getByRole('article', { name: 'Not sent' })
    await refused.waitFor()
    const link = channels(page).getByRole('link', { name: 'Unsent text' })
    expect(await link.count()).toBe(0)
    await openChannel(page, 'General')
    await link.click()
    await refused.waitFor()
    expect(new URL(page.url()).pathname).toBe(`/c/${channel.id}/t/${id}`)
  })

  test('threads are fetched again after the role has changed, and a failure leaves none that the person may not read', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const jana = await Person.signIn(site.baseUrl, 'jana@example.com')
    const channel = await admin.creates({ name: 'terrace' })
    const { id } = await admin.says('where is the ladder?', channel)
    await jana.post(`/messages/${id}/thread`, { content: 'in the shed' })
    await admin.post(`/messages/${id}/thread`, { content: 'thank you' })
    const page = await site.signIn('jana', '/threads', { withoutWorker: true })
    await article(page, 'where is the ladder?').first().waitFor()
    await page.route('**/threads?*', (route) =>
      route.fulfill({ status: 500, json: { error: 'Not now', code: 'internal_error' } }),
    )
    await admin.put(`/users/${jana.id}/role`, { role: 'guest' })
    await article(page, 'where is the ladder?').first().waitFor({ state: 'detached' })
    await page.getByRole('main').getByRole('alert').waitFor()
    await page.unroute('**/threads?*')
    await admin.put(`/users/${jana.id}/role`, { role: 'member' })
    await article(page, 'where is the ladder?').first().waitFor()
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
  })
  test('chosen files stay for another sign-in of the person on the same page, and not for somebody else', async () => {
    const page = await site.signIn('kaja', '/', { withoutWorker: true })
    await createChannel(page, 'darkroom')
    const choose = (name: string) =>
      page.locator('main input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })
    const chosen = (name: string) => page.getByRole('button', { name: `Remove ${name}` })
    const uploaded = (name: string) => page.getByRole('progressbar', { name }).waitFor({ state: 'detached' })
    const stopsUploads = Promise.withResolvers<void>()
    await choose('negative.txt')
    await uploaded('negative.txt')
    await page.route('**/files/binary?*', (route) => {
      stopsUploads.resolve()
      return route.request().url().includes('print') ? undefined : route.continue()
    })
    await choose('print.txt')
    await stopsUploads.promise
    await composer(page, 'darkroom').fill('both of them')
    await endElsewhere('kaja')
    await signInForm(page).waitFor()
    await page.unroute('**/files/binary?*')
    await signInAs(page, 'kaja')
    for (const name of ['negative.txt', 'print.txt']) {
      await chosen(name).waitFor()
      await uploaded(name)
    }
    await composer(page, 'darkroom').press('Enter')
    for (const name of ['negative.txt', 'print.txt'])
      await article(page, 'both of them').getByRole('link', { name }).waitFor()

    await openChannel(page, 'General')
    await choose('proof.txt')
    await uploaded('proof.txt')
    await endElsewhere('kaja')
    await signInForm(page).waitFor()
    await signInAs(page, 'lore')
    await composer(page, 'General').waitFor()
    expect(await chosen('proof.txt').count()).toBe(0)
    await signOut(page)
    await signInAs(page, 'kaja')
    await openChannel(page, 'General')
    await composer(page, 'General').waitFor()
    expect(await chosen('proof.txt').count()).toBe(0)

    // A sign-out forgets them.
    await choose('frame.txt')
    await uploaded('frame.txt')
    await signOut(page)
    await signInAs(page, 'kaja')
    await openChannel(page, 'General')
    await composer(page, 'General').waitFor()
    expect(await chosen('frame.txt').count()).toBe(0)
  })
})
