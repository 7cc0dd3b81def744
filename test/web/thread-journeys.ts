import type { Message } from '@parley/contract'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, channels, isAccessible, openChannel } from './visitors.ts'

/** The threads that a person follows: the link in the sidebar, the page, and the button in the thread. */
export function threadJourneys(site: Site) {
  const { signIn } = site
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)
  const link = (page: Page) => page.getByRole('navigation', { name: 'Threads' }).getByRole('link', { name: /^Threads/ })
  const saysUnread = (page: Page, count: number) =>
    expect
      .poll(() => link(page).textContent())
      .toMatch(count === 0 ? /^Threads$/ : new RegExp(`${count} unread thread`))
  const list = (page: Page) => page.getByRole('region', { name: 'Threads' })
  /** The threads of the list, each by the text of its message. */
  const thread = (page: Page, text: string) => list(page).locator('> article').filter({ hasText: text })
  const panel = (page: Page) => page.getByRole('complementary', { name: 'Thread' })
  const reply = async (author: Person, to: Message, content: string) => {
    const { status } = await author.post(`/messages/${to.id}/thread`, { content })
    expect(status).toBe(200)
  }

  test('a reply to a message is counted at once, listed, and read in all tabs when its thread is opened', async () => {
    const [tess, ulf] = [await person('tess'), await person('ulf')]
    const channel = await tess.creates({ name: 'thimble' })
    await tess.creates({ name: 'bobbin' })
    const parent = await tess.says('Who has the thimble?', channel)
    const page = await signIn('tess')
    await openChannel(page, 'bobbin')
    await saysUnread(page, 0)
    const other = await page.context().newPage()
    await other.goto(`${site.baseUrl}/c/${(await tess.creates({ name: 'spool' })).id}`)
    await saysUnread(other, 0)

    await reply(ulf, parent, 'It is in the box.')
    await saysUnread(page, 1)
    await saysUnread(other, 1)
    await reply(ulf, parent, 'In the small one.')
    expect(await page.title()).toMatch(/^#bobbin/)

    await link(page).click()
    await page.getByRole('heading', { level: 1, name: 'Threads' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/threads')
    expect(await link(page).getAttribute('aria-current')).toBe('page')
    const shown = thread(page, 'Who has the thimble?')
    await shown.getByText('2 new').waitFor()
    await shown.getByText('In the small one.').waitFor()
    await isAccessible(page)

    await shown.getByRole('link', { name: /^2 replies/ }).click()
    await panel(page).getByRole('article').filter({ hasText: 'In the small one.' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/c/${channel.id}/t/${parent.id}`)
    await panel(page).getByText('New messages').waitFor()
    await page.bringToFront()
    await saysUnread(page, 0)
    await saysUnread(other, 0)

    await reply(ulf, parent, 'Did you find it?')
    await panel(page).getByRole('article').filter({ hasText: 'Did you find it?' }).waitFor()
    const state = async () => (await tess.get('/threads')).body.threads[0]
    await expect.poll(state).toMatchObject({ lastSeq: 3, readSeq: 3, unreadCount: 0 })
    await page.goBack()
    await thread(page, 'Who has the thimble?').getByText('3 replies').waitFor()
    expect(await shown.getByText('new').count()).toBe(0)
  })

  test('after an interruption the number of unread threads is right', async () => {
    const [yan, ulf] = [await person('yan'), await person('ulf')]
    const channel = await yan.creates({ name: 'yarn' })
    const [first, second] = [await yan.says('first', channel), await yan.says('second', channel)]
    await reply(ulf, first, 'an answer')
    const page = await signIn('yan', '/profile', { withoutWorker: true })
    await saysUnread(page, 1)
    await page.context().setOffline(true)
    await page.getByRole('status').filter({ hasText: 'Offline' }).waitFor()
    await yan.put(`/messages/${first.id}/thread/read`, { seq: 1 })
    for (const content of ['one', 'two']) await reply(ulf, second, content)
    await yan.post(`/messages/${first.id}/thread`, { content: 'thanks' })
    await reply(ulf, first, 'gladly')
    await page.context().setOffline(false)
    await saysUnread(page, 2)
  })

  test('when the stream is opened again, no request from before is waited for', async () => {
    const [yoko, ulf, admin] = [await person('yoko'), await person('ulf'), await person('admin')]
    const parent = await yoko.says('parent', await yoko.creates({ name: 'yoke' }))
    await reply(ulf, parent, 'an answer')
    const page = await signIn('yoko', '/profile', { withoutWorker: true })
    let requests = 0
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    await page.route('**/threads?unread=true', async (route) => {
      if (++requests === 1) await held.promise
      await route.continue()
    })
    await page.reload()
    await expect.poll(() => requests).toBe(1)
    // The server ends the streams of a person whose role changes.
    expect((await admin.put(`/users/${yoko.id}/role`, { role: 'guest' })).status).toBe(200)
    await saysUnread(page, 1)
    expect(requests).toBe(2)
  })

  test('threads of a channel that was left are counted as long as the person may read them', async () => {
    const [alma, ulf] = [await person('alma'), await person('ulf')]
    const open = await alma.creates({ name: 'weave' })
    const closed = await alma.creates({ name: 'knot', isPrivate: true, members: [ulf.id] })
    const [inOpen, inClosed] = [await alma.says('open', open), await alma.says('closed', closed)]
    for (const parent of [inOpen, inClosed]) await reply(ulf, parent, 'an answer')
    const page = await signIn('alma', '/threads')
    await saysUnread(page, 2)
    await alma.post(`/channels/${open.id}/leave`)
    await channels(page).getByRole('link', { name: 'weave' }).waitFor({ state: 'detached' })
    await alma.post(`/channels/${closed.id}/leave`)
    await saysUnread(page, 1)
    await thread(page, 'closed').waitFor({ state: 'detached' })
    const ada = await person('admin')
    expect((await ada.put(`/channels/${closed.id}`, { members: [ulf.id, alma.id] })).status).toBe(200)
    await saysUnread(page, 2)
    await thread(page, 'closed').waitFor()
    expect(await thread(page, 'open').count()).toBe(1)
    const last = (await ulf.get(`/messages/${inClosed.id}/thread`)).body.replies[0]
    await ulf.delete(`/messages/${inClosed.id}/thread/${last.id}`)
    await saysUnread(page, 1)
    const unread = (await ulf.get(`/messages/${inOpen.id}/thread`)).body.replies[0]
    await ulf.delete(`/messages/${inOpen.id}/thread/${unread.id}`)
    await saysUnread(page, 0)
    await reply(ulf, inOpen, 'another answer')
    await saysUnread(page, 1)
    expect((await (await person('admin')).delete(`/messages/${inOpen.id}`)).status).toBe(200)
    await saysUnread(page, 0)
  })

  test('on a phone, replies below the open navigation stay unread', async () => {
    const [zora, ulf] = [await person('zora'), await person('ulf')]
    const channel = await zora.creates({ name: 'zip' })
    const parent = await zora.says('Where is the zip?', channel)
    await reply(ulf, parent, 'Here.')
    const page = await signIn('zora', `/c/${channel.id}/t/${parent.id}`, { viewport: { width: 390, height: 844 } })
    const readSeq = async () => (await zora.get(`/messages/${parent.id}/thread`)).body.readSeq
    await expect.poll(readSeq).toBe(1)
    await page.getByRole('button', { name: 'Navigation' }).click()
    await reply(ulf, parent, 'No, there.')
    await saysUnread(page, 1)
    expect(await readSeq()).toBe(1)
    await page.getByRole('button', { name: 'Navigation' }).click()
    await expect.poll(readSeq).toBe(2)
  })

  test('a person follows a thread by its button, and stops', async () => {
    const [vera, ulf] = [await person('vera'), await person('ulf')]
    const channel = await ulf.creates({ name: 'ribbon' })
    const parent = await ulf.says('Red or blue?', channel)
    await vera.post(`/channels/${channel.id}/join`)
    const page = await signIn('vera', `/c/${channel.id}/t/${parent.id}`)
    await panel(page).getByRole('button', { name: 'Follow', exact: true }).click()
    await panel(page).getByRole('button', { name: 'Following' }).waitFor()
    await isAccessible(page)
    await panel(page).getByRole('button', { name: 'Close' }).click()
    await reply(ulf, parent, 'I say red.')
    await saysUnread(page, 1)

    await article(page, 'Red or blue?')
      .getByRole('link', { name: /^1 reply/ })
      .click()
    await panel(page).getByRole('button', { name: 'Following' }).click()
    await panel(page).getByRole('button', { name: 'Follow', exact: true }).waitFor()
    await panel(page).getByRole('button', { name: 'Close' }).click()
    await reply(ulf, parent, 'Or blue?')
    await article(page, 'Red or blue?')
      .getByRole('link', { name: /^2 replies/ })
      .waitFor()
    await link(page).click()
    await list(page).getByText('No threads yet').waitFor()
    await saysUnread(page, 0)
  })

  test('the list shows unread threads first, only them, and page by page, and all can be marked as read', async () => {
    const [wim, ulf] = [await person('wim'), await person('ulf')]
    const channel = await wim.creates({ name: 'needles' })
    const parents: Message[] = []
    for (let n = 1; n <= 27; n++) parents.push(await wim.says(`question ${n}.`, channel))
    for (const [n, parent] of parents.entries()) await reply(ulf, parent, `answer ${n + 1}.`)
    for (const parent of parents.slice(2)) await wim.put(`/messages/${parent.id}/thread/read`, { seq: 1 })
    const page = await signIn('wim', '/threads')
    await saysUnread(page, 2)
    await thread(page, 'question 27.').waitFor()
    const threads = list(page).locator('> article')
    expect(await threads.count()).toBe(25)
    await page.getByRole('button', { name: 'Show more' }).click()
    await thread(page, 'question 1.').waitFor()
    expect(await threads.count()).toBe(27)
    expect(await threads.first().textContent()).toContain('question 2.')
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0)

    await page.getByRole('button', { name: 'Unread', exact: true }).click()
    await expect.poll(() => threads.count()).toBe(2)
    await isAccessible(page)
    const markAll = page.getByRole('button', { name: 'Mark all as read' })
    await markAll.focus()
    await page.keyboard.press('Enter')
    await list(page).getByText('Nothing new').waitFor()
    await saysUnread(page, 0)
    expect(await markAll.isDisabled()).toBe(true)
    expect(await markAll.evaluate((button) => button === document.activeElement)).toBe(true)
    await isAccessible(page)
    expect((await wim.get('/threads')).body.unreadThreads).toBe(0)

    await reply(ulf, parents[4]!, 'another answer.')
    await thread(page, 'another answer.').getByText('1 new').waitFor()
    await wim.delete(`/channels/${channel.id}`)
    await list(page).getByText('Nothing new').waitFor()
    await saysUnread(page, 0)
  })

  test('"Show more" shows more also when a reply comes before its response, and all pages are marked as read', async () => {
    const [tilda, ulf] = [await person('tilda'), await person('ulf')]
    const channel = await tilda.creates({ name: 'tassels' })
    const parents: Message[] = []
    for (let n = 1; n <= 27; n++) parents.push(await tilda.says(`question ${n}.`, channel))
    for (const parent of parents) await reply(ulf, parent, 'an answer')
    const page = await signIn('tilda', '/threads', { withoutWorker: true })
    const threads = list(page).locator('> article')
    await expect.poll(() => threads.count()).toBe(25)
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    let requests = 0
    await page.route(/\/threads\?limit=50/, async (route) => {
      if (++requests === 1) await held.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => requests).toBe(1)
    await reply(ulf, parents[26]!, 'another answer.')
    await thread(page, 'another answer.').waitFor()
    held.resolve()
    await thread(page, 'question 1.').waitFor()
    await expect.poll(() => threads.count()).toBe(27)

    // They are more than one page.
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'PUT') sent.push(new URL(request.url()).pathname)
    })
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await saysUnread(page, 0)
    expect(sent).toEqual(['/threads/read'])
    expect((await tilda.get('/threads')).body.unreadThreads).toBe(0)
  })

  test('the account menu marks channels, muted ones, conversations, marks of the person and threads as read, on all devices', async () => {
    const [uma, vito] = [await person('uma'), await person('vito')]
    const [loud, silent] = [await uma.creates({ name: 'gasket' }), await uma.creates({ name: 'washer' })]
    const parent = await uma.says('Which size?', loud)
    const open = await uma.creates({ name: 'sprocket' })
    const page = await signIn('uma', `/c/${open.id}`)
    await uma.put(`/channels/${silent.id}/preferences`, { isMuted: true })
    await vito.says('The large one fits.', loud)
    await vito.says('The small one does not.', silent)
    await reply(vito, parent, 'Nine millimetres.')
    await vito.says('This has no size.', open)
    const { conversation } = (await vito.post('/conversations', { targetUserId: uma.id })).body
    await vito.post(`/conversations/${conversation.id}/messages`, { content: 'Nor does this.' })
    const unread = (name: string) => channels(page).getByRole('link', { name: new RegExp(`${name}.*unread message`) })
    await unread('gasket').waitFor()
    await act(page, 'This has no size.', 'Mark as unread')
    await openChannel(page, 'General')
    await unread('sprocket').waitFor()
    const states = async () => [
      ...(await uma.get('/channels?scope=joined')).body.channels,
      ...(await uma.get('/conversations')).body.conversations,
      ...(await uma.get('/threads')).body.threads,
    ]
    const numbers = async () => (await states()).map(({ unreadCount }) => unreadCount).filter((count) => count > 0)
    expect(await numbers()).toEqual([1, 1, 1, 1])

    const ask = async () => {
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Mark all as read' }).click()
      return page.getByRole('dialog', { name: 'Mark all as read' })
    }
    const dialog = await ask()
    await isAccessible(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await numbers()).toEqual([1, 1, 1, 1])
    await (await ask()).getByRole('button', { name: 'Mark as read' }).click()
    await expect.poll(numbers).toEqual([])
    await saysUnread(page, 0)
    await unread('gasket').waitFor({ state: 'detached' })
    await unread('sprocket').waitFor({ state: 'detached' })
    await (await ask()).getByText('Nothing is unread.').waitFor()
  })

  test('"Mark all as read" leaves a thread unread when a reply comes that the person has not seen', async () => {
    const [ylva, ulf] = [await person('ylva'), await person('ulf')]
    const channel = await ulf.creates({ name: 'buttons' })
    const parents = [await ylva.says('one', channel), await ylva.says('two', channel)] as const
    for (const parent of parents) await reply(ulf, parent, 'an answer')
    const page = await signIn('ylva', '/threads', { withoutWorker: true })
    await thread(page, 'two').getByText('1 new').waitFor()
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    let requests = 0
    await page.route('**/threads/read', async (route) => {
      requests++
      await held.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await expect.poll(() => requests).toBe(1)
    await reply(ulf, parents[0], 'another answer')
    await thread(page, 'one').getByText('2 new').waitFor()
    held.resolve()
    await saysUnread(page, 1)
    await thread(page, 'one').getByText('2 new').waitFor()
    await expect.poll(() => thread(page, 'two').getByText('new').count()).toBe(0)
  })

  test('the number of unread threads is right also while many events come', async () => {
    const [runa, ulf] = [await person('runa'), await person('ulf')]
    const channel = await runa.creates({ name: 'ribbons' })
    const parents: Message[] = []
    for (let n = 1; n <= 27; n++) parents.push(await runa.says(`question ${n}.`, channel))
    for (const parent of parents) await reply(ulf, parent, 'an answer')
    const followed = await ulf.says('followed and not', channel)
    const page = await signIn('runa', '/profile')
    await saysUnread(page, 27)
    // The page knows the 25 newest ones, so it must ask the server.
    await runa.put(`/messages/${parents[0]!.id}/thread/read`, { seq: 1 })
    let isCounted = false
    const counted = saysUnread(page, 26).finally(() => (isCounted = true))
    const causeEvents = async () => {
      for (let n = 0; !isCounted; n++) {
        await runa.put(`/messages/${followed.id}/thread/follow`, { isFollowing: n % 2 === 0 })
      }
    }
    await Promise.all([counted, causeEvents()])
  })

  test('a browser that opens the address gets the page, and a program the data', async () => {
    const xena = await person('xena')
    const { body } = await xena.get('/threads')
    expect(body).toEqual({ threads: [], hasMore: false, unreadThreads: 0 })
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await fetch(`${site.baseUrl}/threads`, { method, headers: { accept: 'text/html' } })
      expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    }
    expect((await fetch(`${site.baseUrl}/threads`, { headers: { accept: 'application/json' } })).status).toBe(401)
  })
}
