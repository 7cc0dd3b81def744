import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article, complaintsOf, composer, createChannel, say } from './visitors.ts'

/** In the page: everything that this browser keeps in its databases and its storage, as text. */
async function keptByBrowser(): Promise<string> {
  const answered = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  const kept: unknown[] = [{ ...localStorage }]
  for (const { name } of await indexedDB.databases()) {
    const database = await answered(indexedDB.open(name!))
    for (const store of database.objectStoreNames) {
      kept.push(await answered(database.transaction(store).objectStore(store).getAll()))
    }
    database.close()
  }
  return JSON.stringify(kept)
}

describeSite('the end of a session in the web client', { timeout: 120_000 }, (site) => {
  const sessionsOf = async (person: Person) => (await person.get('/auth/sessions')).body.sessions.length as number
  const kept = (page: Page) => page.evaluate(keptByBrowser)
  const signInForm = (page: Page) => page.getByRole('button', { name: 'Sign in' })
  const isShownSignedOut = (page: Page) => page.getByRole('alert').filter({ hasText: 'You are signed out' }).waitFor()

  test('a session that is ended from another device leaves no message in the browser', async () => {
    const page = await site.signIn('ann')
    await createChannel(page, 'vault')
    await say(page, 'vault', 'under the third stone')
    await composer(page, 'vault').fill('half a thought')
    await expect.poll(() => kept(page)).toContain('under the third stone')

    const elsewhere = await Person.signIn(site.baseUrl, 'ann@example.com')
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    await signInForm(page).waitFor()
    await expect.poll(() => kept(page)).not.toMatch(/under the third stone|vault/)
    expect(await kept(page)).toContain('half a thought')
  })

  test('signing out without a network removes everything at once, and nobody signs in before the session has ended', async () => {
    const page = await site.signIn('bob')
    const elsewhere = await Person.signIn(site.baseUrl, 'bob@example.com')
    await createChannel(page, 'cellar')
    await say(page, 'cellar', 'behind the barrels')
    await composer(page, 'cellar').fill('half a thought')
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    await tab.goto(page.url())
    await article(tab, 'behind the barrels').waitFor()
    await expect.poll(() => kept(page)).toContain('behind the barrels')
    expect(await sessionsOf(elsewhere)).toBe(2)

    // When the network is back, the server still does not hear of it.
    await page.context().route('**/auth/logout', (route) => route.abort())
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    for (const each of [page, tab]) {
      await isShownSignedOut(each)
      expect(await each.getByRole('article').count()).toBe(0)
    }
    await expect.poll(() => kept(page)).not.toMatch(/behind the barrels|cellar|half a thought/)

    await page.context().setOffline(false)
    await page.reload()
    await isShownSignedOut(page)
    expect(await page.getByRole('button', { name: 'Account' }).count()).toBe(0)
    expect(await signInForm(page).count()).toBe(0)
    expect(await sessionsOf(elsewhere)).toBe(2)

    await page.context().unroute('**/auth/logout')
    for (const each of [page, tab]) await signInForm(each).waitFor()
    expect(await sessionsOf(elsewhere)).toBe(1)
    expect(await page.getByRole('alert').count()).toBe(0)

    // The next person's session has nothing to do with it.
    await page.getByLabel('Email').fill('carl@example.com')
    await signInForm(page).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    expect(complaints).toEqual([])
  })
})
