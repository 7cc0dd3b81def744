import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { act, article, complaintsOf, composer, createChannel, pointAt, say } from './visitors.ts'

/** In the page: the content of the browser's databases and storage as text. `outbox` has the unsent messages, `rest` everything else. */
async function readStoredData(): Promise<{ outbox: string; rest: string }> {
  const resultOf = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  const outbox: unknown[] = []
  const rest: unknown[] = [{ ...localStorage }]
  for (const { name } of await indexedDB.databases()) {
    const database = await resultOf(indexedDB.open(name!))
    for (const store of database.objectStoreNames) {
      const records = await resultOf(database.transaction(store).objectStore(store).getAll())
      if (store === 'outbox') outbox.push(...records)
      else rest.push(...records)
    }
    database.close()
  }
  return { outbox: JSON.stringify(outbox), rest: JSON.stringify(rest) }
}

/** In a page: locks the browser's databases, so that writes of other pages wait until this page is closed. */
async function keepStoresBusy() {
  for (const { name } of await indexedDB.databases()) {
    const opening = indexedDB.open(name!)
    await new Promise((resolve) => {
      opening.onsuccess = resolve
    })
    const stores = [...opening.result.objectStoreNames]
    const store = opening.result.transaction(stores, 'readwrite').objectStore(stores[0]!)
    const keepTransactionOpen = () => {
      store.count().onsuccess = keepTransactionOpen
    }
    keepTransactionOpen()
  }
}

describeSite('the end of a session in the web client', { timeout: 120_000 }, (site) => {
  const signIn = (name: string) => site.signIn(name, '/', { withoutWorker: true })
  const sessionsOf = async (person: Person) => (await person.get('/auth/sessions')).body.sessions.length as number
  const kept = async (page: Page) => Object.values(await page.evaluate(readStoredData)).join()
  /** Sends a message and waits until the outbox is empty, because the outbox stays when a session ends. */
  const sayAndKeep = async (page: Page, channel: string, text: string) => {
    await say(page, channel, text)
    await expect
      .poll(async () => {
        const { outbox, rest } = await page.evaluate(readStoredData)
        return { outbox, isKept: rest.includes(text) }
      })
      .toEqual({ outbox: '[]', isKept: true })
  }
  const signInForm = (page: Page) => page.getByRole('button', { name: 'Sign in' })
  const isShownSignedOut = (page: Page) => page.getByRole('alert').filter({ hasText: 'You are signed out' }).waitFor()

  test('when a session is ended from another device, no messages stay in the browser', async () => {
    const page = await signIn('ann')
    await createChannel(page, 'vault')
    await sayAndKeep(page, 'vault', 'under the third stone')
    await composer(page, 'vault').fill('half a thought')

    const elsewhere = await Person.signIn(site.baseUrl, 'ann@example.com')
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    await signInForm(page).waitFor()
    await expect.poll(() => kept(page)).not.toMatch(/under the third stone|vault/)
    expect(await kept(page)).toContain('half a thought')
  })

  test('signing out without a network removes everything immediately, and nobody can sign in before the session has ended', async () => {
    const page = await signIn('bob')
    const elsewhere = await Person.signIn(site.baseUrl, 'bob@example.com')
    await createChannel(page, 'cellar')
    await sayAndKeep(page, 'cellar', 'behind the barrels')
    await composer(page, 'cellar').fill('half a thought')
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    await tab.goto(page.url())
    await article(tab, 'behind the barrels').waitFor()
    expect(await sessionsOf(elsewhere)).toBe(2)

    // The network is back, but the server still does not get the request.
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

    // The sign-out does not affect the session of the next person.
    await page.getByLabel('Email').fill('carl@example.com')
    await signInForm(page).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    expect(complaints).toEqual([])
  })

  const person = (page: Page) => page.evaluate(() => localStorage.getItem('parley.person'))
  const signInAs = async (page: Page, name: string) => {
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await signInForm(page).click()
  }
  const signOut = async (page: Page) => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
  }
  /** A mailed link that was used already. It leads to the sign-in, even if somebody is signed in in this browser. */
  const usedLink = () => `${site.baseUrl}/?token=used&email=someone@example.com`

  test('a sign-in after a mailed link removes the messages of the previous person and ends their open tab', async () => {
    const page = await signIn('dora')
    await createChannel(page, 'attic')
    await sayAndKeep(page, 'attic', 'behind the chimney')
    await composer(page, 'attic').fill('half a thought')

    const next = await page.context().newPage()
    await next.goto(usedLink())
    await signInAs(next, 'emil')
    await next.getByRole('button', { name: 'Account' }).waitFor()
    await signInForm(page).waitFor()
    await expect.poll(() => kept(next)).not.toMatch(/behind the chimney|attic/)
    expect(await kept(next)).toContain('half a thought')
    const emil = await Person.signIn(site.baseUrl, 'emil@example.com')
    expect(await person(next)).toBe(emil.id)
  })

  test('a sign-in after a mailed link removes the messages of the previous person, also when they have no open tab', async () => {
    const page = await signIn('finn')
    await createChannel(page, 'shed')
    await sayAndKeep(page, 'shed', 'under the bench')
    await page.goto(usedLink())
    await signInAs(page, 'gwen')
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await expect.poll(() => kept(page)).not.toMatch(/under the bench|shed/)
  })

  test('a deletion without a response does not delay the sign-out, and is aborted by it', async () => {
    const page = await signIn('hugo')
    await createChannel(page, 'porch')
    await say(page, 'porch', 'over the door')
    const asked = Promise.withResolvers<void>()
    await page.context().route('**/messages/*', (route) => {
      if (route.request().method() === 'DELETE') asked.resolve()
      else void route.continue()
    })
    const ended = page.waitForEvent('requestfailed', (request) => request.method() === 'DELETE')
    await act(page, 'over the door', 'Delete')
    await page.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' }).click()
    await article(page, 'over the door').waitFor({ state: 'detached' })
    await signOut(page)
    await asked.promise
    await ended
    await signInForm(page).waitFor()
  })

  test('a card that was open when the session ended is closed after the next sign-in', async () => {
    const page = await signIn('kira')
    await createChannel(page, 'garret')
    await say(page, 'garret', 'below the roof')
    await article(page, 'below the roof').getByRole('button', { name: 'kira', exact: true }).click()
    const card = page.getByRole('dialog', { name: 'kira' })
    await card.waitFor()
    const elsewhere = await Person.signIn(site.baseUrl, 'kira@example.com')
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    await signInForm(page).waitFor()
    await signInAs(page, 'kira')
    await composer(page, 'garret').fill('and above')
    await composer(page, 'garret').press('Enter')
    await article(page, 'and above').getByRole('link').waitFor({ state: 'attached' })
    expect(await card.count()).toBe(0)
  })

  const hasEnded = (page: Page) => page.getByRole('status').filter({ hasText: 'Your session has ended' })
  const endElsewhere = async (name: string) => {
    const elsewhere = await Person.signIn(site.baseUrl, `${name}@example.com`)
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
  }

  test('the page says that the session has ended, and after the sign-in in one tab the other tab continues too', async () => {
    const page = await signIn('nele')
    await createChannel(page, 'bay window')
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    await tab.goto(`${site.baseUrl}/profile`)
    await tab.getByLabel('Name').fill('Nele from the bay')
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    await tab.route('**/users/me', async (route) => {
      asked.resolve()
      await released.promise
      await route.continue()
    })
    await tab.getByRole('button', { name: 'Save' }).click()
    await asked.promise
    await endElsewhere('nele')
    for (const each of [page, tab]) await hasEnded(each).waitFor()
    const refused = tab.waitForResponse('**/users/me')
    released.resolve()
    await refused
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('email')
    await signInAs(tab, 'nele')
    await composer(page, 'bay window').waitFor()
    await tab.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
    for (const each of [page, tab]) expect(await each.getByRole('alert').count()).toBe(0)
    await signOut(tab)
    for (const each of [page, tab]) {
      await signInForm(each).waitFor()
      await hasEnded(each).waitFor({ state: 'detached' })
    }
    expect(complaints).toEqual([])
  })

  test('what the session of one person leaves is not shown to the next one, and stays when they sign out', async () => {
    const page = await signIn('olof')
    await createChannel(page, 'larder')
    const box = composer(page, 'larder')
    const choice = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('parley.emoji')))
    await say(page, 'larder', 'behind the jars')
    await act(page, 'behind the jars', 'React')
    await page.getByRole('searchbox', { name: 'Search emoji' }).fill('tada')
    await page.getByRole('dialog', { name: 'React' }).getByRole('button', { name: 'tada', exact: true }).click()
    await expect.poll(choice).toHaveLength(1)
    await box.fill('half a thought')
    await endElsewhere('olof')
    await hasEnded(page).waitFor()
    await signInAs(page, 'pola')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(page.url()).not.toContain('larder')
    await say(page, 'General', 'good morning')
    await pointAt(page, 'good morning')
    expect(await article(page, 'good morning').getByRole('button', { name: 'Respond with tada' }).count()).toBe(0)
    await signOut(page)
    await signInAs(page, 'olof')
    await page.getByRole('link', { name: 'larder' }).click()
    await expect.poll(() => box.inputValue()).toBe('half a thought')
    await say(page, 'larder', 'and below')
    await pointAt(page, 'and below')
    await article(page, 'and below').getByRole('button', { name: 'Respond with tada' }).waitFor()
    await box.fill('another thought')
    await signOut(page)
    await signInForm(page).waitFor()
    expect(await choice()).toEqual([])
    expect(await kept(page)).not.toContain('another thought')
  })

  test('a blocked store delays neither the end of the session nor the next sign-in', async () => {
    const page = await signIn('ines')
    await page.context().route('**/auth/logout', (route) => route.abort())
    await signOut(page)
    await isShownSignedOut(page)
    await page.addInitScript(() => {
      const open = indexedDB.open.bind(indexedDB)
      indexedDB.open = (...of) => Object.assign(open(...of), { addEventListener() {} })
    })
    await page.reload()
    await isShownSignedOut(page)
    await page.context().unroute('**/auth/logout')
    await signInForm(page).waitFor()
  })

  test('a tab that reloads after the end of the session does not send a waiting sign-in before the reload', async () => {
    const page = await signIn('jule')
    const other = await page.context().newPage()
    await other.goto(usedLink())
    await signInForm(other).waitFor()
    await page.context().route('**/auth/logout', (route) => route.abort())
    await signOut(page)
    await isShownSignedOut(other)
    const sent: string[] = []
    other.on('request', (request) => sent.push(new URL(request.url()).pathname))
    await signInAs(other, 'kurt')
    const reloaded = other.waitForEvent('load')
    await page.context().unroute('**/auth/logout')
    await reloaded
    await signInForm(other).waitFor()
    expect(sent).not.toContain('/auth/dev-login')
  })

  test('the next page removes a store that was not removed in time', async () => {
    const page = await signIn('lars')
    await createChannel(page, 'loft')
    await sayAndKeep(page, 'loft', 'behind the beam')
    const blocker = await page.context().newPage()
    await blocker.goto(`${site.baseUrl}/docs`)
    await blocker.evaluate(keepStoresBusy)
    await signOut(page)
    await signInForm(page).waitFor()
    await blocker.close()
    await expect.poll(() => kept(page)).not.toMatch(/behind the beam|loft/)
    expect(await page.evaluate(() => Object.keys(localStorage).join())).not.toContain('removal')
  })

  test('when a session ends while a second factor is set up, no messages stay in the browser', async () => {
    const page = await signIn('mona')
    await createChannel(page, 'stairs')
    await sayAndKeep(page, 'stairs', 'below the carpet')
    // Simulates an admin who makes a second factor required for everybody.
    const required = { error: 'Please set up a second factor', code: 'mfa_enrolment_required' }
    await page.route('**/auth/me', (route) => route.fulfill({ status: 403, json: required }))
    await page.reload()
    // It is there when the page has the factors of the person. Otherwise that request would find out that the session has ended.
    const setUp = page.getByRole('button', { name: 'Set up', exact: true })
    await setUp.waitFor()
    const elsewhere = await Person.signIn(site.baseUrl, 'mona@example.com')
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    await setUp.click()
    await signInForm(page).waitFor()
    await expect.poll(() => kept(page)).not.toMatch(/below the carpet|stairs/)
  })
})
