import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'

/** Long enough for a busy machine. */
const patience = { timeout: 60_000 }

/** Tests of the service worker. They need only one process, because the service worker runs in the browser. */
describeSite('the web client without a network', { wholeBrowser: true, timeout: 180_000 }, (site) => {
  async function openBrowser(permissions: string[] = []): Promise<BrowserContext> {
    const context = await site.browser.newContext({ locale: 'en-GB', permissions })
    onTestFinished(() => context.close())
    return context
  }

  async function signIn(context: BrowserContext, name: string): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(patience.timeout)
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('textbox', { name: /^Message/ }).waitFor()
    return page
  }

  /** Gives the page its real focus state, because Playwright makes every page believe that it has the focus. */
  async function lookAway(page: Page) {
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setFocusEmulationEnabled', { enabled: false })
  }
  /** Runs in the page. It is a text, because this project has no types of browsers. */
  const ask = (page: Page, expression: string) => page.evaluate<unknown>(`(async () => ${expression})()`)
  const hasNoFocus = (page: Page) => expect.poll(() => ask(page, 'document.hasFocus()'), patience).toBe(false)
  const isControlled = (page: Page) =>
    expect.poll(() => ask(page, 'navigator.serviceWorker.controller !== null'), patience).toBe(true)
  const kept = (page: Page) => ask(page, 'caches.keys()')
  /** Waits until the service worker has cached all scripts of the page, which it lists. */
  const isCached = (page: Page) => {
    const worker = `(await (await fetch('/worker.js')).text())`
    const cached = `Promise.all(${worker}.match(/\\/assets\\/[\\w-]+\\.js/g).map((file) => caches.match(file)))`
    return expect.poll(() => ask(page, `(await ${cached}).every(Boolean)`), patience).toBe(true)
  }
  /** Removes the part of the page with this name from the cache. */
  const uncache = (page: Page, part: string) =>
    ask(
      page,
      `{
        const cache = await caches.open((await caches.keys())[0])
        const requests = (await cache.keys()).filter(({ url }) => url.includes('/assets/${part}-'))
        return (await Promise.all(requests.map((request) => cache.delete(request)))).every(Boolean) && requests.length
      }`,
    )
  const stored = (page: Page) =>
    ask(
      page,
      `{
        const done = (request) => new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result)
          request.onerror = () => reject(request.error)
        })
        const all = []
        for (const { name } of await indexedDB.databases()) {
          const database = await done(indexedDB.open(name))
          for (const store of database.objectStoreNames) {
            all.push(await done(database.transaction(store).objectStore(store).getAll()))
          }
          database.close()
        }
        return JSON.stringify(all)
      }`,
    ) as Promise<string>
  const announced = (page: Page) =>
    ask(
      page,
      `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body }) => title + ': ' + body)`,
    )

  /** A person who wants notifications, on the page of their preferences. */
  async function withNotifications(name: string) {
    const context = await openBrowser(['notifications'])
    const page = await signIn(context, name)
    await isControlled(page)
    // What announces messages is loaded after the first view, together with what sends this request.
    const isWatching = page.waitForResponse((response) => response.url().endsWith('/saved/ids'))
    await page.goto(`${site.baseUrl}/preferences`)
    await isWatching
    await page.getByRole('checkbox', { name: 'Desktop notifications' }).check()
    const preferences = () => ask(page, `localStorage.getItem('parley.preferences')`)
    await expect.poll(preferences, patience).toContain('"notifications":true')
    return { context, page }
  }

  test('the choice of notifications shows that the person has withdrawn the permission in the browser', async () => {
    const { context, page } = await withNotifications('uri')
    const choice = page.getByRole('checkbox', { name: 'Desktop notifications' })
    expect(await choice.isChecked()).toBe(true)
    await context.clearPermissions()
    await expect.poll(() => choice.isChecked(), patience).toBe(false)
    await context.grantPermissions(['notifications'], { origin: site.baseUrl })
    await expect.poll(() => choice.isChecked(), patience).toBe(true)
  })

  test('a known page starts offline from the stored data, and sends messages when the network is back', async () => {
    const context = await openBrowser()
    const page = await signIn(context, 'ann')
    const box = page.getByRole('textbox', { name: /^Message/ })
    const article = (text: string) => page.getByRole('article').filter({ hasText: text })
    await box.fill('before the tunnel')
    await box.press('Enter')
    await article('before the tunnel').waitFor()
    await expect.poll(() => article('Sending').count(), patience).toBe(0)
    await isControlled(page)
    // The store is written a moment after each change.
    await expect.poll(() => stored(page), patience).toContain('before the tunnel')

    await context.setOffline(true)
    await page.reload()
    await article('before the tunnel').waitFor()
    await page.getByRole('button', { name: 'Favourite' }).waitFor()
    await box.fill('from within the tunnel')
    await box.press('Enter')
    await article('from within the tunnel').waitFor()
    await context.setOffline(false)
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const [channel] = (await admin.get('/channels')).body.channels
    const contents = async () =>
      (await admin.get(`/channels/${channel.id}/messages`)).body.messages.map(
        ({ content }: { content: string }) => content,
      )
    await expect.poll(contents, patience).toContain('from within the tunnel')
  })

  test('a part of the page that was never opened is opened without a network', async () => {
    const context = await openBrowser()
    const page = await signIn(context, 'cleo')
    await isCached(page)
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Create channel' }).click()
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Preferences' }).click()
    await page.getByRole('combobox', { name: 'Theme' }).waitFor()
  })

  test('a sign-out leaves no cache, also when another tab has the scripts cached at the same moment', async () => {
    const page = await signIn(await openBrowser(), 'drew')
    await isControlled(page)
    await isCached(page)
    const left = await ask(
      page,
      `{
        const worker = navigator.serviceWorker.controller
        const [name] = await caches.keys()
        const left = []
        for (let round = 0; round < 100; round++) {
          await caches.open(name)
          worker.postMessage({ kind: 'forget' })
          worker.postMessage({ kind: 'cache parts' })
          const { port1, port2 } = new MessageChannel()
          const done = new Promise((resolve) => (port1.onmessage = resolve))
          // The worker responds when it has removed the cache.
          worker.postMessage({ kind: 'give page' }, [port2])
          await done
          left.push(...(await caches.keys()))
        }
        return left
      }`,
    )
    expect(left).toEqual([])
  })

  test('signing out removes the cached page, the store and the notifications', async () => {
    const page = await signIn(await openBrowser(), 'bob')
    await isControlled(page)
    await expect.poll(() => kept(page), patience).not.toEqual([])
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => kept(page), patience).toEqual([])
    expect(await ask(page, `localStorage.getItem('parley.person')`)).toBeNull()
    // The store is removed later when another transaction uses it.
    await expect.poll(() => stored(page), patience).not.toMatch(/General|bob/)
  })

  test('a part of the page is shown even if the browser has no space to cache it', async () => {
    const page = await signIn(await openBrowser(), 'dana')
    await isControlled(page)
    await isCached(page)
    expect(await uncache(page, 'preferences-form')).toBe(1)
    const session = await page.context().newCDPSession(page)
    await session.send('Storage.overrideQuotaForOrigin', { origin: site.baseUrl, quotaSize: 1 })
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Preferences' }).click()
    await page.getByRole('combobox', { name: 'Theme' }).waitFor()
  })

  test('a part of the page is shown before the browser has written it to its cache', async () => {
    const context = await openBrowser()
    const page = await signIn(context, 'dora')
    await isCached(page)
    expect(await uncache(page, 'preferences-form')).toBe(1)
    await context.serviceWorkers()[0]!.evaluate('Cache.prototype.put = () => new Promise(() => {})')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Preferences' }).click()
    await page.getByRole('combobox', { name: 'Theme' }).waitFor()
  })

  test('a mention is announced once for all tabs, and not while a tab has the focus', async () => {
    const { context, page: first } = await withNotifications('carl')
    const second = await context.newPage()
    await second.goto(site.baseUrl)
    await second.getByRole('textbox', { name: /^Message/ }).waitFor()
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const [channel] = (await admin.get('/channels')).body.channels

    await second.bringToFront()
    await admin.says('@carl while you look', channel)
    await second.getByRole('article').filter({ hasText: 'while you look' }).waitFor()
    await lookAway(first)
    await lookAway(second)
    await (await context.newPage()).bringToFront()
    for (const each of [first, second]) await hasNoFocus(each)
    await admin.says('@carl while you are away', channel)
    await expect
      .poll(() => announced(second), patience)
      .toEqual([`admin in #${channel.name}: @carl while you are away`])

    // The session ends while no page is open. The next page notices it at its start.
    await first.goto('about:blank')
    await second.goto('about:blank')
    const elsewhere = await Person.signIn(site.baseUrl, 'carl@example.com')
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    await second.goto(site.baseUrl)
    await second.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => announced(second), patience).toEqual([])
  })

  test('a mention in a reply and replies in a followed thread are announced and lead to the thread, other replies are not', async () => {
    const { context, page } = await withNotifications('dora')
    await lookAway(page)
    await (await context.newPage()).bringToFront()
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const [channel] = (await admin.get('/channels')).body.channels
    const parent = await admin.says('the tide table', channel)
    await hasNoFocus(page)
    // The page has read the channels, so it gets all later events.
    await page.getByRole('link', { name: new RegExp(`${channel.name}.*unread`) }).waitFor()
    const reply = async (content: string) =>
      (await admin.post(`/messages/${parent.id}/thread`, { content })).body.reply as { id: string }
    await reply('for nobody')
    const { id } = await reply('@dora high water at noon')
    await expect.poll(() => announced(page), patience).toEqual([`admin in #${channel.name}: @dora high water at noon`])
    const led = `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ data }) => data.address)`
    expect(await ask(page, led)).toEqual([`/c/${channel.id}/t/${parent.id}/m/${id}`])

    // Dora follows the thread since it has mentioned her, and one whose message is hers.
    await reply('it has changed')
    const dora = await Person.signIn(site.baseUrl, 'dora@example.com')
    const own = await dora.says('who has the key?', channel)
    await admin.post(`/messages/${own.id}/thread`, { content: 'it is in the boat' })
    const texts = ['@dora high water at noon', 'it has changed', 'it is in the boat']
    await expect
      .poll(async () => ((await announced(page)) as string[]).toSorted(), patience)
      .toEqual(texts.map((text) => `admin in #${channel.name}: ${text}`))
  })

  test('a reply in an old unread thread is announced, of however many threads there are', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const gwen = await Person.signIn(site.baseUrl, 'gwen@example.com')
    const [channel] = (await admin.get('/channels')).body.channels
    const reply = async (to: { id: string }, content: string) =>
      expect((await admin.post(`/messages/${to.id}/thread`, { content })).status).toBe(200)
    const parents = []
    for (let n = 1; n <= 27; n++) parents.push(await gwen.says(`question ${n}`, channel))
    for (const parent of parents) await reply(parent, 'an answer')
    const foreign = await admin.says('not for gwen', channel)
    const { context, page } = await withNotifications('gwen')
    await page
      .getByRole('navigation', { name: 'Threads' })
      .getByText(/27 unread threads/)
      .waitFor()
    await lookAway(page)
    await (await context.newPage()).bringToFront()
    await expect.poll(() => ask(page, 'document.hasFocus()'), patience).toBe(false)
    await reply(foreign, 'a reply to somebody else')
    await reply(parents[0]!, 'one more answer')
    await expect.poll(() => announced(page), patience).toEqual([`admin in #${channel.name}: one more answer`])
    await reply(parents[1]!, 'and another')
    await reply(parents[0]!, 'the last one')
    const texts = ['and another', 'one more answer', 'the last one']
    // The browser closes a notification after 25 seconds.
    const seen = new Set<string>()
    const seenSoFar = async () => {
      for (const each of (await announced(page)) as string[]) seen.add(each)
      return [...seen].toSorted()
    }
    await expect.poll(seenSoFar, patience).toEqual(texts.map((text) => `admin in #${channel.name}: ${text}`))
  })

  test('of what is muted, only a mention by name in a channel is announced', async () => {
    const { context, page } = await withNotifications('faye')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const faye = await Person.signIn(site.baseUrl, 'faye@example.com')
    const [channel] = (await admin.get('/channels')).body.channels
    const { conversation } = (await admin.post('/conversations', { targetUserId: faye.id })).body
    const direct = `/conversations/${conversation.id}`
    for (const path of [`/channels/${channel.id}`, direct]) await faye.put(`${path}/preferences`, { isMuted: true })
    await page
      .getByRole('link', { name: /^admin/ })
      .and(page.getByTitle('Muted'))
      .waitFor()
    await page.getByRole('link', { name: channel.name }).and(page.getByTitle('Muted')).waitFor()
    await lookAway(page)
    await (await context.newPage()).bringToFront()
    await hasNoFocus(page)

    await admin.says('@channel for everybody', channel)
    await admin.post(`${direct}/messages`, { content: '@faye between us' })
    await admin.says('@faye for you', channel)
    await expect.poll(() => announced(page), patience).toEqual([`admin in #${channel.name}: @faye for you`])
    await faye.put(`${direct}/preferences`, { isMuted: false })
    await page.getByTitle('Muted').nth(1).waitFor({ state: 'detached' })
    await admin.post(`${direct}/messages`, { content: 'again' })
    await expect.poll(() => announced(page), patience).toContain('admin: again')
    expect(await announced(page)).toHaveLength(2)
  })

  test('a message without a text is announced by the names of its files', async () => {
    const { context, page } = await withNotifications('fern')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const fern = await Person.signIn(site.baseUrl, 'fern@example.com')
    const { conversation } = (await admin.post('/conversations', { targetUserId: fern.id })).body
    await page.getByRole('link', { name: /^admin/ }).waitFor()
    await lookAway(page)
    await (await context.newPage()).bringToFront()
    await hasNoFocus(page)
    const messages = `/conversations/${conversation.id}/messages`
    const images = [await admin.uploadsImage(messages, 'harbour.png', png(8, 8, [0, 90, 200]))]
    const attachments = [await admin.uploads('plan.txt', 'berth 4')]
    await admin.post(messages, { content: '', images, attachments })
    await expect.poll(() => announced(page), patience).toEqual(['admin: harbour.png, plan.txt'])
  })
})
