import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { notificationJourneys } from './notification-journeys.ts'
import { describeSite } from './site.ts'
import { ask, isControlled, patience, visitorsWithWorker } from './worker-visitors.ts'

/** Tests of the service worker. They need only one process, because the service worker runs in the browser. */
describeSite('the web client without a network', { wholeBrowser: true, timeout: 180_000 }, (site) => {
  const { openBrowser, signIn } = visitorsWithWorker(site)
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

  notificationJourneys(site)
})
