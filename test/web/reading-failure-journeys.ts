import type { Request } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { connectsAtOnce, createFailing, unavailable } from './failing.ts'
import type { Site } from './site.ts'
import { article, openChannel, untilDrawn } from './visitors.ts'

/** Reading: how far a person has read, when the server gets it late, and older messages that come late. */
export function readingFailureJourneys(site: Site) {
  const { signIn } = site
  const { signInUnaided, meet } = createFailing(site)

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

  test('a saved message is shown again when the person gets its channel back, also after an outage', async () => {
    const [ann, eve] = await Promise.all(
      ['ann', 'eve'].map((name) => Person.signIn(site.baseUrl, `${name}@example.com`)),
    )
    const channel = await eve!.creates({ name: 'bonded store', isPrivate: true, members: [ann!.id] })
    const { id } = await eve!.says('not for the customs', channel)
    await ann!.put(`/messages/${id}/saved`, { isSaved: true })
    const page = await signIn('ann', '/saved')
    const idsCome = () =>
      page.waitForResponse((response) => response.url().endsWith('/saved/ids') && response.ok(), { timeout: 60_000 })
    await Promise.all([idsCome(), page.reload()])
    await article(page, 'not for the customs').waitFor()
    await eve!.put(`/channels/${channel.id}`, { removeMembers: [ann!.id] })
    await article(page, 'not for the customs').waitFor({ state: 'detached' })

    await site.installation.killEverything()
    await page.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor()
    const come = idsCome()
    await site.installation.start()
    await connectsAtOnce(page)
    await come
    await eve!.put(`/channels/${channel.id}`, { addMembers: [ann!.id] })
    await article(page, 'not for the customs').waitFor()
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
      await untilDrawn(page)
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
}
