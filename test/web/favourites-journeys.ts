import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { channelIdOf, channels, createChannel, hasFocus, isAccessible, main, openChannel } from './visitors.ts'

const toggle = (page: Page, name: string) => main(page).getByRole('button', { name, exact: true })
const directMessages = (page: Page) => page.getByRole('navigation', { name: 'Direct messages' })

/** The names of the links, without the numbers of unread messages. */
const namesIn = (list: Locator) => list.getByRole('link').locator('.name').allTextContents()

/** Signs somebody in on a page that shows the sign-in. */
async function signInAs(page: Page, name: string) {
  await page.getByLabel('Email').fill(`${name}@example.com`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Account' }).waitFor()
}

/** The stored changes that the server does not have yet. */
const waiting = (page: Page) =>
  page.evaluate<string>(`localStorage.getItem(Object.keys(localStorage).find((key) => key.startsWith('parley.set ')))`)

/** Tests favourites and muted channels. */
export function favouritesJourneys(site: Site) {
  const { signIn } = site

  /** Another page of the same person, with its own session. */
  const secondDevice = (page: Page, name: string) => signIn(name, new URL(page.url()).pathname)

  test('a right click on a channel of the sidebar, and the key for it, open the menu of the channel', async () => {
    const page = await signIn('dora')
    for (const name of ['fjord', 'geyser', 'atoll']) await createChannel(page, name)
    const [dora, friend] = [
      await Person.signIn(site.baseUrl, 'dora@example.com'),
      await Person.signIn(site.baseUrl, 'dirk@example.com'),
    ]
    const fjord = (await dora.get('/channels?q=fjord')).body.channels[0]
    const row = (name: string) => channels(page).getByRole('link', { name: new RegExp(`^${name}`) })
    const menu = (name: string) => page.getByRole('menu', { name: `Actions for ${name}` })
    const item = (name: string) => page.getByRole('menuitem', { name, exact: true })
    const names = () => page.getByRole('menuitem').allTextContents()
    const others = ['Mute', 'Notifications', 'Copy link', 'Channel settings', 'Leave channel']

    await friend.says('cold water', fjord)
    await row('fjord').filter({ hasText: '1 unread message' }).waitFor()
    await row('fjord').click({ button: 'right' })
    await menu('fjord').waitFor()
    expect(await names()).toEqual(['Mark as read', 'Add to favourites', ...others])
    const [above, below] = [(await row('fjord').boundingBox())!, (await menu('fjord').boundingBox())!]
    const gap = below.y - above.y - above.height
    expect(gap).toBeGreaterThanOrEqual(0)
    expect(gap).toBeLessThan(10)
    await isAccessible(page)
    await item('Mark as read').click()
    await row('fjord').filter({ hasText: 'unread' }).waitFor({ state: 'detached' })
    await expect.poll(async () => (await dora.get('/channels?q=fjord')).body.channels[0].unreadCount).toBe(0)
    await page.getByRole('heading', { level: 1, name: 'atoll' }).waitFor()

    await row('geyser').focus()
    await page.keyboard.press('Shift+F10')
    await hasFocus(item('Add to favourites'))
    await page.keyboard.press('Escape')
    await menu('geyser').waitFor({ state: 'detached' })
    await hasFocus(row('geyser'))
    await page.keyboard.press('ContextMenu')
    await hasFocus(item('Add to favourites'))
    await page.keyboard.press('Enter')
    await expect.poll(() => namesIn(channels(page))).toEqual(['geyser', 'atoll', 'fjord', 'General'])
    await hasFocus(row('geyser'))
    await row('geyser').click({ button: 'right' })
    expect(await names()).toEqual(['Remove from favourites', ...others])
    await page.keyboard.press('Escape')
    await row('fjord').click({ button: 'right' })
    await menu('fjord').waitFor()
    await row('geyser').click({ button: 'right' })
    await menu('geyser').waitFor()
    expect(await page.getByRole('menu').count()).toBe(1)
    await page.keyboard.press('Escape')
    await row('fjord').click({ button: 'right' })
    await item('Mute').click()
    await row('fjord').and(page.getByTitle('Muted')).waitFor()

    // A channel that is not open is left without opening another one.
    await row('fjord').click({ button: 'right' })
    await item('Leave channel').click()
    await row('fjord').waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'atoll' }).waitFor()
    await row('geyser').click({ button: 'right' })
    await item('Channel settings').click()
    const settings = page.getByRole('dialog', { name: 'Channel settings' })
    expect(await settings.getByLabel('Name').inputValue()).toBe('geyser')
    await settings.getByRole('button', { name: 'Leave channel' }).click()
    await row('geyser').waitFor({ state: 'detached' })
    await settings.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'atoll' }).waitFor()
    await row('atoll').click({ button: 'right' })
    await item('Leave channel').click()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
  })

  test('the dialogs and fields of the menu have their own names, whatever the page shows', async () => {
    const page = await signIn('dune', '/', { withoutWorker: true })
    await createChannel(page, 'sandbank')
    // The menu is loaded after the first view, together with what sends this request.
    const isLoaded = page.waitForResponse((response) => response.url().endsWith('/saved/ids'))
    await page.goto(`${site.baseUrl}/preferences`)
    await isLoaded
    await page.getByRole('combobox', { name: 'Theme' }).waitFor()
    await channels(page)
      .getByRole('link', { name: /^sandbank/ })
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Channel settings' }).click()
    const settings = page.getByRole('dialog', { name: 'Channel settings' })
    expect(await settings.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('sandbank')
    await page.keyboard.press('Escape')
    // Whoever may not change the name reads it, because another channel may be open.
    const [dune, friend] = [
      await Person.signIn(site.baseUrl, 'dune@example.com'),
      await Person.signIn(site.baseUrl, 'dirk@example.com'),
    ]
    await friend.creates({ name: 'isthmus', members: [dune.id] })
    await channels(page)
      .getByRole('link', { name: /^isthmus/ })
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Channel settings' }).click()
    await settings.getByText('isthmus', { exact: true }).waitFor()
  })

  test('the menu of a conversation copies its link, and “Back” closes the menu on a narrow page', async () => {
    const [ewan, friend] = [
      await Person.signIn(site.baseUrl, 'ewan@example.com'),
      await Person.signIn(site.baseUrl, 'elsa@example.com'),
    ]
    const { body } = await ewan.post('/conversations', { targetUserId: friend.id })
    const page = await signIn('ewan', '/', {
      viewport: { width: 390, height: 844 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const layers = () => page.evaluate('history.state?.layers')
    await page.getByRole('button', { name: 'Navigation' }).click()
    await expect.poll(layers).toBe(1)
    const row = directMessages(page).getByRole('link', { name: /^elsa/ })
    const menu = page.getByRole('menu', { name: 'Actions for elsa' })
    await row.click({ button: 'right' })
    await menu.waitFor()
    await expect.poll(layers).toBe(2)
    await page.goBack()
    await menu.waitFor({ state: 'detached' })
    await row.click({ button: 'right' })
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Add to favourites', 'Mute', 'Copy link'])
    await page.getByRole('menuitem', { name: 'Copy link' }).click()
    await page.getByText('Link copied').waitFor()
    const address = `${site.baseUrl}/c/${body.conversation.id}`
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(address)
    await row.waitFor()
  })

  test('a collapsed section shows only what is unread and what is open, in all tabs and after a reload', async () => {
    const page = await signIn('cora')
    for (const name of ['butte', 'gully', 'wold']) await createChannel(page, name)
    const cora = await Person.signIn(site.baseUrl, 'cora@example.com')
    const friend = await Person.signIn(site.baseUrl, 'colin@example.com')
    await cora.post('/conversations', { targetUserId: friend.id })
    const heading = (each: Page, name: string) =>
      each.getByRole('heading', { level: 2 }).getByRole('button', { name, exact: true })
    const other = await page.context().newPage()
    await other.goto(page.url())
    await heading(page, 'Channels').focus()
    await page.keyboard.press('Enter')
    for (const each of [page, other]) await expect.poll(() => namesIn(channels(each))).toEqual(['wold'])
    expect(await heading(page, 'Channels').getAttribute('aria-expanded')).toBe('false')
    await isAccessible(page)

    const { channels: known } = (await cora.get('/channels')).body
    await friend.says(
      'Sand everywhere.',
      known.find(({ name }: { name: string }) => name === 'butte'),
    )
    for (const each of [page, other]) await expect.poll(() => namesIn(channels(each))).toEqual(['butte', 'wold'])
    await channels(page)
      .getByRole('link', { name: /^butte/ })
      .click()
    await expect.poll(() => namesIn(channels(page))).toEqual(['butte'])
    await page.reload()
    await expect.poll(() => namesIn(channels(page))).toEqual(['butte'])

    await heading(page, 'Direct messages').click()
    await expect.poll(() => namesIn(directMessages(page))).toEqual([])
    await heading(page, 'Direct messages').click()
    await expect.poll(() => namesIn(directMessages(page))).toEqual(['colin'])
    await heading(page, 'Channels').click()
    for (const each of [page, other])
      await expect.poll(() => namesIn(channels(each))).toEqual(['butte', 'General', 'gully', 'wold'])
  })

  test('favourites come first on all devices of a person, and the keys follow the order', async () => {
    const page = await signIn('fern')
    await createChannel(page, 'brook')
    await createChannel(page, 'tarn')
    const other = await secondDevice(page, 'fern')
    await expect.poll(() => namesIn(channels(page))).toEqual(['brook', 'General', 'tarn'])
    expect(await toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('false')

    await toggle(page, 'Favourite').click()
    for (const each of [page, other]) {
      await channels(each).getByRole('heading', { name: 'Favourites' }).waitFor()
      await expect.poll(() => namesIn(channels(each))).toEqual(['tarn', 'brook', 'General'])
      await expect.poll(() => toggle(each, 'Favourite').getAttribute('aria-pressed')).toBe('true')
    }
    await isAccessible(page)
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'brook' }).waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    await page.getByRole('heading', { level: 1, name: 'tarn' }).waitFor()

    await page.reload()
    await expect.poll(() => namesIn(channels(page))).toEqual(['tarn', 'brook', 'General'])
    await toggle(page, 'Favourite').click()
    for (const each of [page, other]) {
      await channels(each).getByRole('heading', { name: 'Favourites' }).waitFor({ state: 'detached' })
      await expect.poll(() => namesIn(channels(each))).toEqual(['brook', 'General', 'tarn'])
    }
  })

  test('a favourite conversation stays the first one of the direct messages', async () => {
    const me = await Person.signIn(site.baseUrl, 'moss@example.com')
    const friends = await Promise.all(
      ['heath', 'sedge'].map((name) => Person.signIn(site.baseUrl, `${name}@example.com`)),
    )
    const ids: string[] = []
    for (const friend of friends) {
      const { body } = await friend.post('/conversations', { targetUserId: me.id })
      await friend.post(`/conversations/${body.conversation.id}/messages`, { content: 'good morning' })
      ids.push(body.conversation.id)
    }
    const page = await signIn('moss', `/c/${ids[0]}`)
    await expect.poll(() => namesIn(directMessages(page))).toEqual(['sedge', 'heath'])
    await toggle(page, 'Favourite').click()
    await expect.poll(() => namesIn(directMessages(page))).toEqual(['heath', 'sedge'])
    await friends[1]!.post(`/conversations/${ids[1]}/messages`, { content: 'are you there?' })
    await directMessages(page)
      .getByRole('link', { name: /^sedge.*2 unread messages$/ })
      .waitFor()
    expect(await namesIn(directMessages(page))).toEqual(['heath', 'sedge'])
    expect(await channels(page).getByRole('heading', { name: 'Favourites' }).count()).toBe(0)
  })

  test('a muted channel shows no unread messages, only mentions', async () => {
    const reed = await Person.signIn(site.baseUrl, 'reed@example.com')
    const noisy = await reed.creates({ name: 'noisy' })
    const me = await Person.signIn(site.baseUrl, 'iris@example.com')
    await me.post(`/channels/${noisy.id}/join`)
    const page = await signIn('iris', `/c/${noisy.id}`)
    await toggle(page, 'Mute').click()
    await toggle(page, 'Unmute').waitFor()
    const link = channels(page).getByRole('link', { name: /^noisy/ })
    expect(await link.getAttribute('title')).toBe('Muted')
    const other = await secondDevice(page, 'iris')
    await toggle(other, 'Unmute').waitFor()
    await openChannel(page, 'General')

    const unread = async () =>
      ((await me.get(`/channels/${noisy.id}`)).body.channel as { unreadCount: number }).unreadCount
    await openChannel(other, 'General')
    await reed.says('one', noisy)
    await reed.says('two', noisy)
    expect(await unread()).toBe(2)
    // The events of a channel have an order: when this one has come, the others have.
    await reed.says('@iris three', noisy)
    await channels(page)
      .getByRole('link', { name: /^noisy\s+1 unread message, 1 mention$/ })
      .waitFor()
    await expect.poll(() => page.title()).toMatch(/^\(1\) #General/)
    await isAccessible(page)

    await page.keyboard.press('Alt+Shift+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'noisy' }).waitFor()
    await expect.poll(unread).toBe(0)
    await expect.poll(() => page.title()).toMatch(/^#noisy/)
    await openChannel(page, 'General')
    await reed.says('four', noisy)
    await expect.poll(unread).toBe(1)
    await me.put(`/channels/${noisy.id}/preferences`, { isMuted: false })
    await channels(page)
      .getByRole('link', { name: /^noisy\s+1 unread message$/ })
      .waitFor()
    expect(await page.getByTitle('Muted').count()).toBe(0)
    await expect.poll(() => page.title()).toMatch(/^\(1\) #General/)
  })

  test('a change is shown before the server has it, and taken back when the server refuses it', async () => {
    const page = await signIn('sorrel', '/', { withoutWorker: true })
    await createChannel(page, 'glade')
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    await page.route('**/channels/*/preferences', async (route) => {
      await held.promise
      await route.fulfill({ status: 403, json: { error: 'This channel is closed', code: 'forbidden' } })
    })
    await toggle(page, 'Favourite').click()
    await toggle(page, 'Mute').click()
    await channels(page).getByRole('heading', { name: 'Favourites' }).waitFor()
    await toggle(page, 'Unmute').waitFor()
    held.resolve()
    await page.getByRole('alert').getByText('This channel is closed').waitFor()
    await channels(page).getByRole('heading', { name: 'Favourites' }).waitFor({ state: 'detached' })
    await toggle(page, 'Mute').waitFor()
    expect(await toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('false')
  })

  test('a change that waits is not sent in the name of the next person', async () => {
    const page = await signIn('tansy', '/', { withoutWorker: true })
    await createChannel(page, 'meadow')
    const id = channelIdOf(page)
    const next = await Person.signIn(site.baseUrl, 'yarrow@example.com')
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    await page.route(
      '**/channels/*/preferences',
      async (route) => {
        await held.promise
        await route.fulfill({ status: 403, json: { error: 'This channel is closed', code: 'forbidden' } })
      },
      { times: 1 },
    )
    await toggle(page, 'Favourite').click()
    await toggle(page, 'Mute').click()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await signInAs(page, 'yarrow')
    held.resolve()
    // Whatever was sent before this response has been answered.
    await page.evaluate((channel) => fetch(`/channels/${channel}`), id)
    expect((await next.get(`/channels/${id}`)).body.channel).toMatchObject({ isMuted: false, isFavourite: false })
    expect(await toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('false')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  /** The page of a person who has lost the connection in a new channel, and what the server has stored for them. */
  async function withoutConnection(name: string, channel: string) {
    const page = await signIn(name, '/', { withoutWorker: true })
    await createChannel(page, channel)
    const [address, id] = /\/c\/([^/]+)/.exec(page.url())!
    await toggle(page, 'Favourite').waitFor()
    const me = await Person.signIn(site.baseUrl, `${name}@example.com`)
    const stored = async () => (await me.get(`/channels/${id}`)).body.channel
    return { page, me, id: id!, address: site.baseUrl + address, stored }
  }
  async function disconnect(page: Page) {
    await page.context().setOffline(true)
    await page.getByRole('status').filter({ hasText: 'Offline' }).waitFor()
  }

  test('changes without a connection stay, and the next page sends the last ones', async () => {
    const { page, me, id, address, stored } = await withoutConnection('clover', 'dune')
    await disconnect(page)
    await toggle(page, 'Favourite').click()
    await toggle(page, 'Mute').click()
    await toggle(page, 'Unmute').click()
    await toggle(page, 'Mute').click()
    await toggle(page, 'Unmute').waitFor()
    const next = await page.context().newPage()
    await page.close()
    await next.context().setOffline(false)
    await next.goto(address)
    await channels(next).getByRole('heading', { name: 'Favourites' }).waitFor()
    await expect.poll(stored).toMatchObject({ isMuted: true, isFavourite: true })

    await me.put(`/channels/${id}/preferences`, { isFavourite: false })
    await expect.poll(() => toggle(next, 'Favourite').getAttribute('aria-pressed')).toBe('false')
    await next.reload()
    await toggle(next, 'Unmute').waitFor()
    expect(await toggle(next, 'Favourite').getAttribute('aria-pressed')).toBe('false')
  })

  test('of the changes in two tabs without a connection the last one is sent', async () => {
    const { page, address, stored } = await withoutConnection('yarrow', 'reef')
    await toggle(page, 'Favourite').click()
    await expect.poll(stored).toMatchObject({ isFavourite: true })
    const other = await page.context().newPage()
    await other.goto(address)
    await expect.poll(() => toggle(other, 'Favourite').getAttribute('aria-pressed')).toBe('true')
    await disconnect(page)
    await other.getByRole('status').filter({ hasText: 'Offline' }).waitFor()
    await toggle(page, 'Favourite').click()
    await toggle(page, 'Mute').click()
    await toggle(other, 'Unmute').waitFor()
    await expect.poll(() => toggle(other, 'Favourite').getAttribute('aria-pressed')).toBe('false')
    await toggle(other, 'Favourite').click()
    await page.context().setOffline(false)
    await expect.poll(stored).toMatchObject({ isMuted: true, isFavourite: true })
    await expect.poll(() => toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('true')
    // Both pages have sent what waited.
    for (const each of [page, other]) await expect.poll(() => waiting(each)).toBe('[]')
    expect(await stored()).toMatchObject({ isMuted: true, isFavourite: true })
  })

  test('a busy server gets the change later, and a refused one is taken back also after a lost connection', async () => {
    const { page, stored } = await withoutConnection('senna', 'loch')
    const refused = (error: string, status: number) => ({ status, json: { error, code: 'refused' } })
    let requests = 0
    let isOffline = false
    await page.route('**/channels/*/preferences', async (route) => {
      if (isOffline) return route.abort()
      if (++requests === 1) await route.fulfill(refused('Too busy', 503))
      else if (requests === 2) await route.continue()
      else await route.fulfill(refused('This channel is closed', 403))
    })
    await toggle(page, 'Favourite').click()
    await expect.poll(() => requests).toBe(1)
    expect(await toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('true')
    await expect.poll(stored, { timeout: 20_000 }).toMatchObject({ isFavourite: true })
    await expect.poll(() => waiting(page)).toBe('[]')

    isOffline = true
    await disconnect(page)
    await toggle(page, 'Mute').click()
    await toggle(page, 'Unmute').waitFor()
    isOffline = false
    await page.context().setOffline(false)
    await page.getByRole('alert').getByText('This channel is closed').waitFor()
    await toggle(page, 'Mute').waitFor()
    expect(await toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('true')
    expect(requests).toBe(3)
  })

  test('what a person has changed before their session ended waits for them, and is not sent for somebody else', async () => {
    const { page, me, id, address, stored } = await withoutConnection('arnica', 'cape')
    const next = await Person.signIn(site.baseUrl, 'betony@example.com')
    await next.post(`/channels/${id}/join`)
    await disconnect(page)
    await toggle(page, 'Favourite').click()
    await me.delete('/auth/sessions', { refreshToken: me.refreshToken })
    await page.context().setOffline(false)
    await signInAs(page, 'betony')
    await page.goto(address)
    await toggle(page, 'Mute').waitFor()
    expect(await channels(page).getByRole('heading', { name: 'Favourites' }).count()).toBe(0)
    expect((await next.get(`/channels/${id}`)).body.channel).toMatchObject({ isFavourite: false })
    expect(await stored()).toMatchObject({ isFavourite: false })

    await next.delete('/auth/sessions', { refreshToken: next.refreshToken })
    await signInAs(page, 'arnica')
    await channels(page).getByRole('heading', { name: 'Favourites' }).waitFor()
    await expect.poll(stored).toMatchObject({ isFavourite: true })
    expect((await next.get(`/channels/${id}`)).body.channel).toMatchObject({ isFavourite: false })
  })

  test('of several changes the last one counts', async () => {
    const page = await signIn('bryony')
    await createChannel(page, 'copse')
    const id = channelIdOf(page)
    await toggle(page, 'Mute').click()
    await toggle(page, 'Unmute').click()
    await toggle(page, 'Favourite').click()
    const me = await Person.signIn(site.baseUrl, 'bryony@example.com')
    const stored = async () => (await me.get(`/channels/${id}`)).body.channel
    await expect.poll(stored).toMatchObject({ isMuted: false, isFavourite: true })
    await me.put(`/channels/${id}/preferences`, { isFavourite: false })
    await expect.poll(() => toggle(page, 'Favourite').getAttribute('aria-pressed')).toBe('false')
    await toggle(page, 'Mute').waitFor()
  })
}
