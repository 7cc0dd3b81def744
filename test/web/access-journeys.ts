import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, composer, openChannel } from './visitors.ts'

const thread = (page: Page) => page.getByRole('complementary', { name: 'Thread' })
const heading = (page: Page) => page.getByRole('heading', { level: 1, name: 'Not found' })
const hasFocus = (page: Page, selector: string) =>
  expect.poll(() => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)).toBe(true)

/** What somebody sees who loses the access to what is open. */
export function accessJourneys(site: Site) {
  const { signIn } = site

  /** Two people in a private channel, which the first one has created. */
  async function meet(name: string, [creator, member]: [string, string]) {
    const [owner, other] = [
      await Person.signIn(site.baseUrl, `${creator}@example.com`),
      await Person.signIn(site.baseUrl, `${member}@example.com`),
    ]
    const channel = await owner.creates({ name, isPrivate: true, members: [other.id] })
    const change = (body: object) => owner.put(`/channels/${channel.id}`, body)
    return {
      owner,
      channel,
      add: () => change({ addMembers: [other.id] }),
      remove: () => change({ removeMembers: [other.id] }),
    }
  }

  test('a person who is removed from the open channel sees no more of it and keeps their texts', async () => {
    const { owner, channel, add, remove } = await meet('boardroom', ['otto', 'pia'])
    const { id } = await owner.says('the numbers of the year', channel)
    await owner.post(`/messages/${id}/thread`, { content: 'they are good' })
    const page = await signIn('pia', `/c/${channel.id}/t/${id}`)
    const reply = thread(page).getByRole('textbox', { name: 'Reply' })
    await reply.fill('how good?')
    await composer(page, 'boardroom').fill('I would like to')
    await remove()
    await heading(page).waitFor()
    await hasFocus(page, 'h1')
    await expect.poll(() => page.title()).toMatch(/^(\(\d+\) )?Not found – /)
    await thread(page).waitFor({ state: 'detached' })
    const texts = page.getByRole('main').getByRole('textbox', { name: 'Your unsent text' })
    expect(await texts.evaluateAll((boxes: HTMLTextAreaElement[]) => boxes.map(({ value }) => value))).toEqual([
      'I would like to',
      'how good?',
    ])
    expect(await page.locator('textarea:read-write').count()).toBe(0)
    await add()
    await expect.poll(() => composer(page, 'boardroom').inputValue()).toBe('I would like to')
    await expect.poll(() => reply.inputValue()).toBe('how good?')
    await expect.poll(() => page.title()).toMatch(/#boardroom – /)
  })

  test('a message that was refused, and an edit that was not saved, stay in sight when the access to the channel is lost', async () => {
    const { owner, channel, remove } = await meet('back room', ['otto', 'pia'])
    await owner.says('a first text', channel)
    const page = await signIn('pia', `/c/${channel.id}`)
    const box = composer(page, 'back room')
    await box.fill('a text that will be edited')
    await box.press('Enter')
    const sent = page.getByRole('article').filter({ hasText: 'a text that will be edited' })
    await expect.poll(() => sent.getByRole('link').count()).toBeGreaterThan(0)
    await box.press('ArrowUp')
    await page.getByRole('textbox', { name: 'Edit message' }).fill('an edit that was not saved')
    const file = { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('a plan') }
    await page.locator('main input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor()
    await page.getByRole('progressbar', { name: 'plan.txt' }).waitFor({ state: 'detached' })
    await page.context().setOffline(true)
    await box.press('Enter')
    await box.fill('a message without a connection')
    await box.press('Enter')
    await expect.poll(() => page.getByRole('article', { name: 'Sending…' }).count()).toBe(2)
    await remove()
    await page.context().setOffline(false)
    await heading(page).waitFor()
    const texts = page.getByRole('main').getByRole('textbox', { name: 'Your unsent text' })
    const values = () => texts.evaluateAll((boxes: HTMLTextAreaElement[]) => boxes.map(({ value }) => value))
    await expect.poll(values).toEqual(['an edit that was not saved', 'a message without a connection'])
    await page.getByRole('main').getByText('1 file').waitFor()
    await page.getByRole('button', { name: 'Discard' }).last().press('Enter')
    await expect.poll(values).toEqual(['an edit that was not saved'])
    await hasFocus(page, 'main button')
    await page.getByRole('button', { name: 'Discard' }).last().press('Enter')
    await page.getByRole('main').getByText('1 file').waitFor({ state: 'detached' })
  })

  test('a thread whose message is deleted has no text box any more, and shows the text that was typed there', async () => {
    const { owner, channel } = await meet('reading room', ['otto', 'pia'])
    const { id } = await owner.says('which book is next?', channel)
    const page = await signIn('pia', `/c/${channel.id}/t/${id}`, { withoutWorker: true })
    const reply = thread(page).getByRole('textbox', { name: 'Reply' })
    await reply.fill('the one about lighthouses')
    const [emptyList, missingThread] = [Promise.withResolvers<Route>(), Promise.withResolvers<Route>()]
    await page.route('**/assets/empty-feed-*.js', emptyList.resolve)
    await page.route('**/assets/missing-thread-*.js', missingThread.resolve)
    await owner.delete(`/messages/${id}`)
    await reply.waitFor({ state: 'detached' })
    // The empty list must not take the focus, even if it is shown before the panel has its text.
    await (await emptyList.promise).continue()
    await page.getByRole('main').getByText('No messages yet').waitFor()
    await (await missingThread.promise).continue()
    const text = thread(page).getByRole('textbox', { name: 'Your unsent text' })
    expect(await text.inputValue()).toBe('the one about lighthouses')
    await hasFocus(page, '.panel p')
    await page.keyboard.press('Escape')
    await thread(page).waitFor({ state: 'detached' })
  })

  test('search results that were deleted, or that the person may not read any more, disappear, also those of "Back"', async () => {
    const { owner, channel, remove } = await meet('strong room', ['otto', 'pia'])
    const open = await owner.creates({ name: 'hallway' })
    await owner.says('marzipan in the strong room', channel)
    const { id } = await owner.says('marzipan in the hallway', open)
    await owner.says('no more marzipan', open)
    const page = await signIn('pia', '/search?q=marzipan')
    await article(page, 'marzipan in the strong room').waitFor()
    await remove()
    await article(page, 'marzipan in the strong room').waitFor({ state: 'detached' })
    expect(await article(page, 'marzipan').count()).toBe(2)
    await page.getByRole('main').getByRole('link', { name: '#hallway' }).first().click()
    await article(page, 'marzipan in the hallway').waitFor()
    await owner.delete(`/messages/${id}`)
    await article(page, 'marzipan in the hallway').waitFor({ state: 'detached' })
    await page.goBack()
    await article(page, 'no more marzipan').waitFor()
    expect(await article(page, 'marzipan').count()).toBe(1)
    await openChannel(page, 'General')
  })

  /** Somebody whose role the admin changes. */
  async function meetWithRole(name: string) {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { id } = await Person.signIn(site.baseUrl, `${name}@example.com`)
    return { admin, setRole: (role: string) => admin.put(`/users/${id}/role`, { role }) }
  }

  test('somebody with a smaller role sees no more of an open channel that they have not joined and may not read', async () => {
    const { admin, setRole } = await meetWithRole('quinn')
    const owner = await Person.signIn(site.baseUrl, 'otto@example.com')
    const secret = await owner.creates({ name: 'engine room', isPrivate: true })
    await owner.says('the valve leaks', secret)
    const open = await admin.creates({ name: 'lobby' })
    await admin.says('the door is open', open)
    await setRole('admin')
    const page = await signIn('quinn', `/c/${secret.id}`)
    await article(page, 'the valve leaks').waitFor()
    await setRole('member')
    await heading(page).waitFor()
    expect(await page.getByText('the valve leaks').count()).toBe(0)
    await page.goto(`${site.baseUrl}/c/${open.id}`)
    await article(page, 'the door is open').waitFor()
    await setRole('guest')
    await heading(page).waitFor()
    expect(await page.getByText('the door is open').count()).toBe(0)
  })

  test('search results and followed threads that a smaller role may not read disappear, and so does "Browse channels" for a guest', async () => {
    const { setRole } = await meetWithRole('silas')
    const silas = await Person.signIn(site.baseUrl, 'silas@example.com')
    const owner = await Person.signIn(site.baseUrl, 'otto@example.com')
    const secret = await owner.creates({ name: 'boiler room', isPrivate: true })
    const { id } = await owner.says('the nougat is hot', secret)
    await setRole('admin')
    await silas.post(`/messages/${id}/thread`, { content: 'since when?' })
    await owner.post(`/messages/${id}/thread`, { content: 'since noon' })
    const page = await signIn('silas', '/search?q=nougat')
    const unread = page.getByRole('navigation', { name: 'Threads' }).getByText('1 unread thread')
    await article(page, 'the nougat is hot').waitFor()
    await unread.waitFor({ state: 'attached' })
    await setRole('member')
    await page.getByText('Nothing was found').waitFor()
    await unread.waitFor({ state: 'detached' })
    await setRole('admin')
    await article(page, 'the nougat is hot').waitFor()
    await page.goto(`${site.baseUrl}/threads`)
    await article(page, 'since noon').first().waitFor()
    await setRole('member')
    await page.getByText('No threads yet').or(page.getByText('Nothing new')).first().waitFor()
    expect(await page.getByText('since noon').count()).toBe(0)

    for (const name of ['Browse channels', 'Create channel']) {
      await page.getByRole('button', { name }).click()
      const dialog = page.getByRole('dialog', { name })
      await dialog.waitFor()
      await setRole('guest')
      await dialog.waitFor({ state: 'detached' })
      await hasFocus(page, 'h1')
      await setRole('member')
    }
  })

  test('a page of search results that comes after the role has become smaller is not shown', async () => {
    const { setRole } = await meetWithRole('tessa')
    const owner = await Person.signIn(site.baseUrl, 'otto@example.com')
    const secret = await owner.creates({ name: 'root cellar', isPrivate: true })
    for (let n = 0; n < 31; n++) await owner.says(`praline ${n}`, secret)
    await setRole('admin')
    const page = await signIn('tessa', '/search?q=praline', { withoutWorker: true })
    const more = page.getByRole('button', { name: 'Show more' })
    await article(page, 'praline 30').waitFor()
    const held: (() => Promise<void>)[] = []
    await page.route('**/search/messages*', async (route) => {
      const response = await route.fetch()
      held.push(() => route.fulfill({ response }))
    })
    await more.click()
    await expect.poll(() => held.length).toBe(1)
    await setRole('member')
    await article(page, 'praline').first().waitFor({ state: 'detached' })
    expect(await more.count()).toBe(0)
    await expect.poll(() => held.length).toBe(2)
    await held[1]!()
    await page.getByText('Nothing was found').waitFor()
    const late = page.waitForResponse('**/search/messages*')
    await held[0]!()
    await (await late).finished()
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect(await article(page, 'praline').count()).toBe(0)
  })

  test('the administration appears and disappears with the role of an admin, and the focus goes to the heading', async () => {
    const { setRole } = await meetWithRole('rosa')
    const page = await signIn('rosa')
    await setRole('admin')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Administration' }).click()
    const find = page.getByRole('searchbox', { name: 'Find a person' })
    await find.fill('otto')
    await page.getByRole('button', { name: 'Add person' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add person' })
    await dialog.getByLabel('Email').fill('someone@example.com')
    await setRole('member')
    await page.getByText('Only admins may see this page').waitFor()
    expect(await dialog.count()).toBe(0)
    await hasFocus(page, 'h1')
    await setRole('admin')
    await find.waitFor()
    await hasFocus(page, 'h1')
  })
}
