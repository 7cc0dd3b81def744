import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { act, article, channels, complaintsOf, composer, openChannel, refuseMessages } from './visitors.ts'

/** Tests the page when the browser's storage has unexpected values, or when it cannot store anything. */
describeSite('the web client and the storage of the browser', { timeout: 120_000 }, (site) => {
  const signIn = (name: string, address: string) => site.signIn(name, address, { withoutWorker: true })

  async function meet() {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `stored ${randomUUID().slice(0, 8)}` })
    await eve.says('still readable', channel)
    return { eve, channel, address: `/c/${channel.id}` }
  }

  const store = (page: Page, items: Record<string, string>) =>
    page.evaluate((given) => {
      for (const [key, value] of Object.entries(given)) localStorage.setItem(key, value)
    }, items)

  test('stored values that are no JSON or have another form are treated as missing', async () => {
    const { channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    await ann.post(`/channels/${channel.id}/join`)
    const page = await signIn('ann', address)
    const broken = [
      'no JSON',
      'null',
      '1',
      '"text"',
      '{}',
      '[1, null, "text", []]',
      JSON.stringify([[channel.id, null]]),
      JSON.stringify([[channel.id, {}]]),
      JSON.stringify([[channel.id, { seqs: 1, loadedSeq: 1, lastSeq: 99, id: 1, userName: [] }]]),
      JSON.stringify([[channel.id, { seqs: [null], loadedSeq: '1', lastSeq: 99, id: {}, userName: null }]]),
      JSON.stringify([[channel.id, { id: true, isMuted: 'yes' }]]),
      JSON.stringify({ recent: [{}], names: 1, tone: {}, theme: {}, density: 1, language: 'toString' }),
    ]
    for (const value of broken) {
      await store(page, {
        [`parley.unread ${ann.id}`]: value,
        [`parley.quoted ${ann.id}`]: value,
        [`parley.set ${ann.id}`]: value,
        [`parley.edited ${ann.id}`]: value,
        [`parley.read ${ann.id}`]: value,
        'parley.preferences': value,
        [`parley.emoji ${ann.id}`]: value,
        'parley.person': value,
      })
      await page.reload()
      await article(page, 'still readable').waitFor()
      await channels(page).getByRole('link', { name: channel.name }).waitFor()
      expect(await page.getByText('Quoting').count()).toBe(0)
    }
  })

  test('preferences that are chosen in one tab are those of all tabs, and two tabs do not replace each other’s choice', async () => {
    const page = await signIn('ann', '/preferences')
    const tab = await page.context().newPage()
    await tab.goto(page.url())
    const chosen = (of: Page, name: string) => of.getByRole('combobox', { name })
    await chosen(tab, 'Theme').waitFor()
    await chosen(page, 'Theme').selectOption('Dark')
    await expect.poll(() => tab.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(await chosen(tab, 'Theme').inputValue()).toBe('dark')
    await chosen(tab, 'Density').selectOption('Compact')
    await expect.poll(() => page.locator('html').getAttribute('data-density')).toBe('compact')
    await chosen(page, 'Language').selectOption('Deutsch')
    await tab.getByRole('heading', { level: 1, name: 'Einstellungen' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Einstellungen' }).waitFor()
    const { theme, density } = await page.evaluate(() => document.documentElement.dataset)
    expect({ theme, density }).toEqual({ theme: 'dark', density: 'compact' })
  })

  test('an unsent message with another form is not sent, and does not stop the ones that are sent later', async () => {
    const { channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    const page = await signIn('ann', address)
    await article(page, 'still readable').waitFor()
    const whole = { id: 'broken', userId: ann.id, channelId: channel.id, state: 'waiting', createdAt: 1, body: {} }
    const broken = [
      { ...whole, body: undefined },
      { ...whole, createdAt: 'now' },
      { ...whole, channelId: 1 },
    ]
    for (const [n, entry] of broken.entries())
      await store(page, { [`parley.outbox ${site.baseUrl} ${ann.id} ${n}`]: JSON.stringify({ ...entry, id: `${n}` }) })
    await page.reload()
    await article(page, 'still readable').waitFor()
    await composer(page, channel.name).fill('sent later')
    await composer(page, channel.name).press('Enter')
    const contents = async () =>
      (await ann.get(`/channels/${channel.id}/messages`)).body.messages.map(
        ({ content }: { content: string }) => content,
      )
    await expect.poll(contents).toEqual(['still readable', 'sent later'])
    expect(await page.getByText('Not sent').count()).toBe(0)
  })

  test('a message that the browser cannot store comes back with its files and its quotation, and its text survives a reload', async () => {
    const { channel, address } = await meet()
    const page = await signIn('ann', address)
    // The page reports the failure to the console.
    page.removeAllListeners('pageerror')
    await act(page, 'still readable', 'Quote')
    const file = { name: 'hold.txt', mimeType: 'text/plain', buffer: Buffer.from('full') }
    await page.locator('main input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'Remove hold.txt' }).waitFor()
    await page.getByRole('progressbar', { name: 'hold.txt' }).waitFor({ state: 'detached' })
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('The disk is full', 'QuotaExceededError')
      }
    })
    const box = composer(page, channel.name)
    await box.fill('hard to say again')
    await box.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'This browser cannot store anything' }).waitFor()
    await expect.poll(() => box.inputValue()).toBe('hard to say again')
    await page.getByText('Quoting eve').waitFor()
    await page.getByRole('button', { name: 'Remove hold.txt' }).waitFor()
    // The browser asks, because the file would be lost.
    page.removeAllListeners('dialog')
    const asked = page.waitForEvent('dialog')
    const reloaded = page.reload()
    await (await asked).accept()
    await reloaded
    await expect.poll(() => box.inputValue()).toBe('hard to say again')
    await page.getByText('Quoting eve').waitFor()
  })

  test('a message that the browser cannot store is put before what the person has typed meanwhile, and stays a draft in a channel that was left', async () => {
    const { eve, channel, address } = await meet()
    const other = await eve.creates({ name: `other ${randomUUID().slice(0, 8)}` })
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    for (const { id } of [channel, other]) await ann.post(`/channels/${id}/join`)
    const page = await signIn('ann', address)
    page.removeAllListeners('pageerror')
    // Each write fails, but only when the test says so.
    await page.evaluate(() => {
      const { put } = IDBObjectStore.prototype
      IDBObjectStore.prototype.put = function (this: IDBObjectStore, ...given: [unknown, IDBValidKey]) {
        if (this.name !== 'outbox') return put.apply(this, given)
        const request = put.apply(this, given)
        const { transaction } = this
        // Keeps the transaction open until it is aborted.
        transaction.commit = () => {
          const wait = () => {
            if ('isFull' in window) transaction.abort()
            else this.count().onsuccess = wait
          }
          wait()
        }
        return request
      }
    })
    const fails = (is: boolean) =>
      page.evaluate((isFull) => {
        if (isFull) Object.assign(window, { isFull })
        else Reflect.deleteProperty(window, 'isFull')
      }, is)
    const failure = page.getByRole('alert').filter({ hasText: 'This browser cannot store anything' })
    const box = composer(page, channel.name)
    await box.fill('first')
    await box.press('Enter')
    await expect.poll(() => box.inputValue()).toBe('')
    await box.pressSequentially('second')
    await fails(true)
    await failure.waitFor()
    await expect.poll(() => box.inputValue()).toBe('first\nsecond')
    await failure.getByRole('button', { name: 'Close' }).click()

    await fails(false)
    await box.press('Enter')
    await expect.poll(() => box.inputValue()).toBe('')
    await openChannel(page, other.name)
    await fails(true)
    await failure.waitFor()
    await openChannel(page, channel.name)
    await expect.poll(() => box.inputValue()).toBe('first\nsecond')
  })

  test('a refused message stays, and the page says so, when the browser cannot store that it is sent again', async () => {
    const { channel, address } = await meet()
    const page = await signIn('ann', address)
    // The page reports the failure to the console.
    page.removeAllListeners('pageerror')
    await refuseMessages(page)
    await composer(page, channel.name).fill('may I say this?')
    await composer(page, channel.name).press('Enter')
    const refused = article(page, 'may I say this?')
    await refused.getByText('Not sent').waitFor()
    await page.evaluate(() => {
      const { put } = IDBObjectStore.prototype
      IDBObjectStore.prototype.put = function (this: IDBObjectStore, ...given: [unknown, IDBValidKey]) {
        if (this.name === 'outbox') throw new DOMException('The disk is full', 'QuotaExceededError')
        return put.apply(this, given)
      }
    })
    await refused.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('alert').filter({ hasText: 'This browser cannot store anything' }).waitFor()
    await refused.getByText('Not sent').waitFor()
  })

  test('the editors of a message in two tabs show the newest text, and close together', async () => {
    const { channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    await ann.post(`/channels/${channel.id}/join`)
    await ann.says('the tide is low', channel)
    const page = await signIn('ann', address)
    const tab = await page.context().newPage()
    const complaints = complaintsOf(tab)
    await tab.goto(site.baseUrl + address)
    const editor = (each: Page) => each.getByRole('textbox', { name: 'Edit message' })
    for (const each of [page, tab]) await act(each, 'the tide is low', 'Edit')
    await editor(page).fill('the tide is rising')
    await expect.poll(() => editor(tab).inputValue()).toBe('the tide is rising')
    await editor(page).fill('the tide is high')
    await expect.poll(() => editor(tab).inputValue()).toBe('the tide is high')
    await editor(tab).press('Enter')
    for (const each of [page, tab]) {
      await article(each, 'the tide is high').getByText('edited').waitFor()
      await editor(each).waitFor({ state: 'detached' })
    }

    // Escape in one tab cancels the edit in both.
    for (const each of [page, tab]) await act(each, 'the tide is high', 'Edit')
    await editor(page).fill('the tide is out')
    await expect.poll(() => editor(tab).inputValue()).toBe('the tide is out')
    await editor(tab).press('Escape')
    for (const each of [page, tab]) await editor(each).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('of two unsaved edits of a channel the newer one opens by itself, and the other one gets the focus when the person opens it', async () => {
    const { channel, address } = await meet()
    const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
    await ann.post(`/channels/${channel.id}/join`)
    for (const text of ['a first shell', 'a second shell']) await ann.says(text, channel)
    const page = await signIn('ann', address)
    const editor = page.getByRole('textbox', { name: 'Edit message' })
    for (const text of ['a first shell', 'a second shell']) {
      await act(page, text, 'Edit')
      await editor.fill(`${text}, broken`)
    }
    await page.reload()
    await expect.poll(() => editor.inputValue()).toBe('a second shell, broken')
    const hasFocus = () => editor.evaluate((box) => box === document.activeElement)
    expect(await hasFocus()).toBe(false)
    await act(page, 'a first shell', 'Edit')
    await expect.poll(() => editor.inputValue()).toBe('a first shell, broken')
    expect(await hasFocus()).toBe(true)
  })

  test.each(['shown', 'left'])(
    'a message that waits for its files in a %s channel is sent as it was, and what is typed in another tab stays a draft',
    async (where) => {
      const { eve, channel, address } = await meet()
      const other = await eve.creates({ name: `other ${randomUUID().slice(0, 8)}` })
      const ann = await Person.signIn(site.baseUrl, 'ann@example.com')
      for (const { id } of [channel, other]) await ann.post(`/channels/${id}/join`)
      const page = await signIn('ann', address)
      const held = Promise.withResolvers<Route>()
      await page.route('**/files/binary*', held.resolve)
      const file = { name: 'hold.txt', mimeType: 'text/plain', buffer: Buffer.from('full') }
      await page.locator('main input[type=file]').setInputFiles(file)
      const box = composer(page, channel.name)
      await box.fill('with a file')
      await box.press('Enter')
      await page.getByText('The message is sent when the files are uploaded').waitFor()
      const route = await held.promise
      if (where === 'left') await openChannel(page, other.name)

      const tab = await page.context().newPage()
      await tab.goto(site.baseUrl + address)
      const boxOfTab = composer(tab, channel.name)
      await expect.poll(() => boxOfTab.inputValue()).toBe('with a file')
      // Playwright makes every page believe that it has the focus.
      await page.evaluate(() => {
        document.hasFocus = () => false
      })
      await boxOfTab.fill('with a file, and half a')
      // The other page knows it before the upload ends.
      await expect.poll(() => page.evaluate(() => Object.values(localStorage).join())).toContain('and half a')
      await route.continue()
      const contents = async () =>
        (await ann.get(`/channels/${channel.id}/messages`)).body.messages.map(
          ({ content }: { content: string }) => content,
        )
      await expect.poll(async () => (await contents()).length).toBe(2)
      expect(await contents()).toEqual(['still readable', 'with a file'])
      expect(await boxOfTab.inputValue()).toBe('with a file, and half a')
      if (where === 'left') await openChannel(page, channel.name)
      await expect.poll(() => box.inputValue()).toBe('with a file, and half a')
      await tab.reload()
      await expect.poll(() => boxOfTab.inputValue()).toBe('with a file, and half a')
    },
  )
})
