import { randomUUID } from 'node:crypto'
import type { Locator, Page, Request } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { toggleJourneys } from './toggle-journeys.ts'
import { act, article, channels, composer, removeStores, say, untilDrawn } from './visitors.ts'

/** In the page: `connection` ends the event stream, and the server does not know the cursor of the next one. */
const loseCursor = `{
  const { fetch } = window
  window.fetch = (input, init) => {
    if (!String(input).startsWith('/events')) return fetch(input, init)
    const headers = { ...init.headers, ...(window.connection && { 'last-event-id': 'of-another-epoch.7' }) }
    window.connection = new AbortController()
    return fetch(input, { ...init, headers, signal: AbortSignal.any([init.signal, connection.signal]) })
  }
}`

/** Responses that come after something else has happened. */
describeSite('a late response', { timeout: 90_000 }, (site) => {
  const signIn = (name: string, address?: string) => site.signIn(name, address, { withoutWorker: true })
  const unique = (name: string) => `${name} ${randomUUID().slice(0, 8)}`
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)

  /** Holds the next response to this request. `sent` resolves when the server has sent it. */
  async function hold(page: Page, pattern: RegExp, method = 'GET') {
    const [sent, released] = [Promise.withResolvers<Request>(), Promise.withResolvers<void>()]
    let isHeld = false
    await page.route(pattern, async (route) => {
      if (isHeld || route.request().method() !== method) return route.continue()
      isHeld = true
      const response = await route.fetch()
      sent.resolve(route.request())
      await released.promise
      await route.fulfill({ response })
    })
    return {
      sent: sent.promise,
      /** Resolves when the page has handled the response. */
      async release() {
        const request = await sent.promise
        const [response] = await Promise.all([
          page.waitForResponse((each) => each.request() === request),
          released.resolve(),
        ])
        await response.finished()
        await untilDrawn(page)
      },
    }
  }

  /** Creates a channel, and types on while the page waits for the response, which is returned. */
  async function createAndType(page: Page, name: string, text: string) {
    const response = await hold(page, /\/channels$/, 'POST')
    await page.getByRole('button', { name: 'Create channel' }).click()
    await page.getByRole('dialog', { name: 'Create channel' }).getByLabel('Name').fill(name)
    await page.keyboard.press('Enter')
    await response.sent
    await page.keyboard.type(text)
    return response
  }

  /** Creates a channel, and closes the dialog before the response comes. */
  async function createChannelAndClose(page: Page, name: string, { sent }: { sent: Promise<unknown> }) {
    await page.getByRole('button', { name: 'Create channel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create channel' })
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByRole('button', { name: 'Create' }).click()
    await sent
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }

  toggleJourneys(site)

  test('has a line above what it will fill, also with reduced motion, in a channel, a search and a dialog', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('fog') })
    await eve.says('the lighthouse is near', channel)
    const options = { withoutWorker: true, reducedMotion: 'reduce' } as const
    const page = await site.signIn('ria', '/threads', options)
    const list = (name: string | RegExp) =>
      page.getByRole('main').locator('section, [role=feed]').and(page.getByLabel(name))
    const line = (element: Locator) =>
      element.evaluate((node) => {
        const { content, visibility, height } = getComputedStyle(node, '::before')
        return content === 'none' ? 'none' : `${visibility} ${height}`
      })
    const messages = await hold(page, /\/messages\?/)
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    const feed = list(`Messages in ${channel.name}`)
    await expect.poll(() => line(feed)).toBe('visible 2px')
    await messages.release()
    await article(page, 'the lighthouse').waitFor()
    await expect.poll(() => line(feed)).toBe('none')

    const results = await hold(page, /\/search\/messages/)
    await page.getByRole('searchbox', { name: 'Search' }).fill('lighthouse')
    await page.keyboard.press('Enter')
    await expect.poll(() => line(list('Search results'))).toBe('visible 2px')
    await results.release()
    await article(page, 'the lighthouse').waitFor()
    await expect.poll(() => line(list('Search results'))).toBe('none')

    const found = await hold(page, /\/channels\?/)
    await page.getByRole('button', { name: 'Browse channels' }).click()
    const rows = page.getByRole('dialog').getByRole('list')
    await expect.poll(() => line(rows)).toBe('visible 2px')
    await found.release()
    await expect.poll(() => line(rows)).toBe('none')
  })

  test('does not count a message as unread that was deleted meanwhile', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('keel') })
    const sent: { id: string }[] = []
    for (let n = 1; n <= 70; n++) sent.push(await eve.says(`plank ${n}.`, channel))
    const ria = await person('ria')
    await ria.post(`/channels/${channel.id}/join`)
    await ria.put(`/channels/${channel.id}/read`, { seq: 70 })
    const page = await signIn('ria', `/c/${channel.id}/m/${sent[4]!.id}`)
    const unread = (count: number) =>
      channels(page).getByRole('link', { name: new RegExp(`^${channel.name}.* ${count} unread messages$`) })
    await article(page, 'plank 5.').waitFor()
    const rest = await hold(page, /messages\?.*after=/)
    await act(page, 'plank 5.', 'Mark as unread')
    await rest.sent
    await eve.delete(`/messages/${sent[68]!.id}`)
    await eve.says('more', channel)
    // The stream has the deletion before this message.
    await expect.poll(() => page.title()).toMatch(/^\(67\)/)
    await rest.release()
    await unread(66).waitFor()
  })

  test('does not show an ephemeral message again that the person has dismissed', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('help') })
    const page = await signIn('eve', `/c/${channel.id}`)
    const answer = await hold(page, /\/commands$/, 'POST')
    const box = composer(page, channel.name)
    await box.fill('/help')
    await box.press('Enter')
    const shown = page.getByRole('region', { name: 'Only visible to you' })
    await shown.getByRole('button', { name: 'Dismiss' }).click()
    await shown.waitFor({ state: 'detached' })
    await answer.release()
    expect(await shown.count()).toBe(0)
  })

  test('does not keep the menu of a message from showing that the person has just saved the message', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('log book') })
    await eve.says('land in sight', channel)
    const page = await signIn('eve', `/c/${channel.id}`)
    await act(page, 'land in sight', 'Save message')
    await page.getByText('Message saved').waitFor()
    const state = await hold(page, /\/saved$/)
    await article(page, 'land in sight').getByRole('button', { name: 'More actions' }).click()
    await state.sent
    expect(await page.getByRole('menuitem').allTextContents()).toContain('Remove from saved')
    await state.release()
  })

  test('does not change the menu of a message back that the person has saved meanwhile', async () => {
    const fay = await person('fay')
    const channel = await fay.creates({ name: unique('log book') })
    await fay.says('fog ahead', channel)
    const page = await signIn('fay', `/c/${channel.id}`)
    const state = await hold(page, /\/saved$/)
    await act(page, 'fog ahead', 'Save message')
    await page.getByText('Message saved').waitFor()
    await state.release()
    await page.route(/\/saved$/, (route) => route.abort())
    await article(page, 'fog ahead').getByRole('button', { name: 'More actions' }).click()
    expect(await page.getByRole('menuitem').allTextContents()).toContain('Remove from saved')
  })

  test('of an edit leaves the editor open when the person has typed on', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('typed on') })
    await eve.says('one', channel)
    const page = await signIn('eve', `/c/${channel.id}`)
    await article(page, 'one').waitFor()
    const saved = await hold(page, /\/messages\/[^/]+$/, 'PUT')
    await composer(page, channel.name).press('ArrowUp')
    const edit = page.getByRole('textbox', { name: 'Edit message' })
    await edit.fill('one and two')
    await edit.press('Enter')
    await saved.sent
    await edit.pressSequentially(' and three')
    await saved.release()
    expect(await edit.inputValue()).toBe('one and two and three')
    await edit.press('Enter')
    await edit.waitFor({ state: 'detached' })
    await article(page, 'one and two and three').waitFor()
  })

  test.each(['Leave channel', 'Delete channel'])(
    'of “%s” does not lead a person away who has opened another one',
    async (action) => {
      const eve = await person('eve')
      const [left, opened] = [
        await eve.creates({ name: unique('a left') }),
        await eve.creates({ name: unique('z opened') }),
      ]
      const page = await signIn('eve', `/c/${left.id}`)
      await page.getByRole('button', { name: 'Channel settings' }).click()
      const response = await hold(
        page,
        new RegExp(`/channels/${left.id}(/leave)?$`),
        action === 'Leave channel' ? 'POST' : 'DELETE',
      )
      await page.getByRole('button', { name: action }).click()
      if (action === 'Delete channel') await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await response.sent
      await page.keyboard.press('Escape')
      await channels(page).getByRole('link', { name: opened.name }).click()
      await page.getByRole('heading', { level: 1, name: opened.name }).waitFor()
      await response.release()
      expect(new URL(page.url()).pathname).toBe(`/c/${opened.id}`)
    },
  )

  test('of a new channel does not lead a person away who has opened another one', async () => {
    const eve = await person('eve')
    const opened = await eve.creates({ name: unique('opened') })
    const page = await signIn('eve')
    const name = unique('created')
    const response = await hold(page, /\/channels$/, 'POST')
    await createChannelAndClose(page, name, response)
    await channels(page).getByRole('link', { name: opened.name }).click()
    await page.getByRole('heading', { level: 1, name: opened.name }).waitFor()
    await response.release()
    expect(new URL(page.url()).pathname).toBe(`/c/${opened.id}`)
    await channels(page).getByRole('link', { name }).waitFor()
  })

  test('of a new conversation gives it what the person types on, and not to the open channel', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('public') })
    const name = `pal.${randomUUID().slice(0, 8)}`
    await person(name)
    const page = await signIn('eve', `/c/${channel.id}`)
    await composer(page, channel.name).waitFor()
    const response = await hold(page, /\/conversations$/, 'POST')
    await page.keyboard.press('Control+k')
    const dialog = page.getByRole('dialog', { name: 'Switch to' })
    await dialog.getByRole('combobox').fill(name)
    await dialog.getByRole('option', { name }).waitFor()
    await page.keyboard.press('Enter')
    await response.sent
    await untilDrawn(page)
    await page.keyboard.type('between us')
    await page.keyboard.press('Enter')
    await response.release()
    await expect.poll(() => composer(page, name).inputValue()).toBe('between us')
    await dialog.waitFor({ state: 'detached' })
    expect(await eve.readsAll(`/channels/${channel.id}/messages`)).toEqual([])
  })

  test('with people opens the person who was typed before Enter, also when one types on', async () => {
    const name = `pal.${randomUUID().slice(0, 8)}`
    await person(name)
    const page = await signIn('eve')
    const people = await hold(page, /\/users\?q=/)
    await page.getByRole('button', { name: 'New direct message' }).click()
    const dialog = page.getByRole('dialog', { name: 'New direct message' })
    await dialog.getByRole('combobox').fill(name)
    await page.keyboard.press('Enter')
    await people.sent
    await page.keyboard.type('hello')
    await people.release()
    await expect.poll(() => composer(page, name).inputValue()).toBe('hello')
  })

  test('of a new channel gives it what the person types on after Enter', async () => {
    const page = await signIn('eve')
    const name = unique('typed on')
    const response = await createAndType(page, name, 'hello')
    await response.release()
    await expect.poll(() => composer(page, name).inputValue()).toBe('hello')
  })

  test('of a new channel opens it also when the browser cannot store what the person types on', async () => {
    const page = await signIn('eve')
    // The page reports the failure to the console.
    page.removeAllListeners('pageerror')
    const name = unique('not stored')
    const response = await createAndType(page, name, 'hello')
    await page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException('The disk is full', 'QuotaExceededError')
      }
    })
    await response.release()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await page.getByRole('alert').filter({ hasText: 'This browser cannot store anything' }).waitFor()
  })

  // In Safari, a button that is clicked does not get the focus.
  test('of a new channel opens it also when nothing has the focus', async () => {
    const page = await signIn('eve')
    const name = unique('unfocused')
    await page.getByRole('button', { name: 'Create channel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create channel' })
    await dialog.getByLabel('Name').fill(name)
    await page.evaluate('document.activeElement.blur()')
    await dialog.getByRole('button', { name: 'Create', exact: true }).dispatchEvent('click')
    await page.getByRole('heading', { level: 1, name }).waitFor()
  })

  test('that refuses a new channel is shown also when its dialog was closed', async () => {
    const eve = await person('eve')
    const { name } = await eve.creates({ name: unique('taken') })
    const page = await signIn('eve')
    const response = await hold(page, /\/channels$/, 'POST')
    await createChannelAndClose(page, name, response)
    await response.release()
    expect(await page.getByRole('alert').allTextContents()).toEqual([expect.stringContaining('channel')])
  })

  test('with members does not replace a newer one', async () => {
    const [eve, bo, cy] = [await person('eve'), await person('bo'), await person('cy')]
    const channel = await eve.creates({ name: unique('members') })
    const page = await signIn('eve', `/c/${channel.id}`)
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const members = page.getByRole('region', { name: 'Members' })
    await members.getByText('eve').waitFor()
    const older = await hold(page, /\/members\?/)
    await bo.post(`/channels/${channel.id}/join`)
    await older.sent
    await cy.post(`/channels/${channel.id}/join`)
    await members.getByText('cy').waitFor()
    await older.release()
    expect(await members.getByRole('listitem').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/cy/)]),
    )
  })

  test('with a list does not replace a newer one', async () => {
    const admin = await person('admin')
    const [first, second] = [unique('first'), unique('second')]
    const channel = await admin.creates({ name: unique('hooks') })
    const page = await signIn('admin', '/admin/webhooks')
    await page.getByRole('button', { name: 'Create webhook' }).waitFor()
    const older = await hold(page, /\/webhooks$/)
    await admin.post('/webhooks', { name: first, channelId: channel.id })
    await older.sent
    await admin.post('/webhooks', { name: second, channelId: channel.id })
    await page.getByRole('row', { name: second }).waitFor()
    await older.release()
    expect(await page.getByRole('row', { name: second }).count()).toBe(1)
  })

  test('with the people of the server has a person who was added meanwhile', async () => {
    const page = await signIn('admin', '/preferences')
    const people = await hold(page, /\/users\?limit=/)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Administration' }).click()
    await people.sent
    const name = `new.${randomUUID().slice(0, 8)}`
    await person(name)
    // The event of the channel comes after that of the person.
    const channel = await (await person('admin')).creates({ name: unique('later') })
    await channels(page).getByRole('link', { name: channel.name }).waitFor()
    await people.release()
    await page.getByRole('row', { name }).waitFor()
    expect(await page.getByRole('row', { name }).count()).toBe(1)
  })

  test('with the person of a card does not say before it comes that they are gone', async () => {
    const [eve, bo] = [await person('eve'), await person('bo')]
    const channel = await eve.creates({ name: unique('card'), members: [bo.id] })
    await bo.says('ahoy', channel)
    const page = await signIn('eve', `/c/${channel.id}`)
    await page.context().addInitScript(loseCursor)
    await page.reload()
    await article(page, 'ahoy').getByRole('button', { name: 'bo', exact: true }).click()
    const card = page.getByRole('dialog', { name: 'bo' })
    await card.getByText('bo@example.com').waitFor()
    const people = await hold(page, /\/users\?ids=/)
    await page.evaluate('connection.abort()')
    await people.sent
    await card.getByText('bo@example.com').waitFor({ state: 'detached' })
    await untilDrawn(page)
    expect(await card.getByText('no longer on this server').count()).toBe(0)
    await people.release()
    await card.getByText('bo@example.com').waitFor()
  })

  test('with the role of a guest does not come after the button “Create channel”', async () => {
    const admin = await person('admin')
    const name = `guest.${randomUUID().slice(0, 8)}`
    const guest = await person(name)
    const channel = await admin.creates({ name: unique('for guests'), members: [guest.id] })
    await admin.put(`/users/${guest.id}/role`, { role: 'guest' })
    const page = await site.openPage('/', { withoutWorker: true })
    const rest = await hold(page, /\/conversations$/)
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await channels(page).getByRole('link', { name: channel.name }).waitFor()
    await rest.sent
    await untilDrawn(page)
    const button = page.getByRole('button', { name: 'Create channel' })
    expect(await button.count()).toBe(0)
    await rest.release()
    expect(await button.count()).toBe(0)
  })

  test('with the conversations does not delay the channel that opens at the start', async () => {
    const page = await site.openPage('/', { withoutWorker: true })
    const rest = await hold(page, /\/conversations$/)
    await page.getByLabel('Email').fill(`${randomUUID().slice(0, 8)}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await rest.sent
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await rest.release()
  })

  test('with the conversations is awaited at the start when one of them was open last', async () => {
    const page = await signIn('ivo')
    const eve = await person('eve')
    const { id: ivoId } = await person('ivo')
    const { conversation } = (await eve.post('/conversations', { targetUserId: ivoId })).body
    await page.goto(`${site.baseUrl}/c/${conversation.id}`)
    await expect.poll(() => page.evaluate(() => Object.values(localStorage))).toContain(conversation.id)
    await removeStores(page)
    const rest = await hold(page, /\/conversations$/)
    await page.goto(site.baseUrl)
    await rest.sent
    await channels(page).getByRole('link', { name: 'General' }).waitFor()
    await untilDrawn(page)
    expect(new URL(page.url()).pathname).toBe('/')
    await rest.release()
    await page.getByRole('heading', { level: 1, name: 'eve' }).waitFor()
  })

  test('that refuses a channel does not hide it from a person who was added meanwhile', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('private'), isPrivate: true })
    await eve.says('welcome', channel)
    const bo = await person('bo')
    const page = await signIn('bo', `/c/${channel.id}`)
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
    await eve.put(`/channels/${channel.id}`, { addMembers: [bo.id] })
    await page.getByRole('heading', { level: 1, name: channel.name }).waitFor()
    await article(page, 'welcome').waitFor()
  })

  test('of a deletion that is repeated after a lost response is no error', async () => {
    const eve = await person('eve')
    const channel = await eve.creates({ name: unique('lost') })
    const page = await signIn('eve', `/c/${channel.id}`)
    await say(page, channel.name, 'goes away')
    let asked = 0
    await page.route(/\/messages\/[^/]+$/, async (route) => {
      if (route.request().method() !== 'DELETE' || asked++ > 0) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await act(page, 'goes away', 'Delete')
    const repeated = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' }).click()
    await (await repeated).finished()
    await untilDrawn(page)
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await article(page, 'goes away').count()).toBe(0)
  })

  test('about a second factor does not end the session of the next person', async () => {
    const page = await signIn('eve')
    const address = page.url()
    // So the request below is one of the next page, and not a late one of this page, which would be cancelled.
    await page.goto('about:blank')
    const refusal = { error: 'Set up a second factor', code: 'mfa_enrolment_required' }
    const [sent, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      /\/auth\/me$/,
      async (route) => {
        sent.resolve()
        await released.promise
        await route.fulfill({ status: 403, json: refusal })
      },
      { times: 1 },
    )
    await page.goto(address)
    await sent.promise
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email').fill('bo@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await Promise.all([page.waitForResponse((response) => response.status() === 403), released.resolve()])
    await untilDrawn(page)
    await page.getByRole('button', { name: 'Account' }).waitFor()
    expect(await page.getByRole('heading', { name: /second factor/i }).count()).toBe(0)
  })
})
