import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { announced, ask, lookAway, patience, visitorsWithWorker } from './worker-visitors.ts'

/** Tests desktop notifications. */
export function notificationJourneys(site: Site) {
  const { withNotifications } = visitorsWithWorker(site)

  test('the choice of notifications shows that the person has withdrawn the permission in the browser', async () => {
    const { context, page } = await withNotifications('uri')
    const choice = page.getByRole('checkbox', { name: 'Desktop notifications' })
    expect(await choice.isChecked()).toBe(true)
    await context.clearPermissions()
    await expect.poll(() => choice.isChecked(), patience).toBe(false)
    await context.grantPermissions(['notifications'], { origin: site.baseUrl })
    await expect.poll(() => choice.isChecked(), patience).toBe(true)
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
    await lookAway(context, first, second)
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
    await lookAway(context, page)
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const [channel] = (await admin.get('/channels')).body.channels
    const parent = await admin.says('the tide table', channel)
    // The page has read the channels, so it gets all later events.
    await page.getByRole('link', { name: new RegExp(`${channel.name}.*unread`) }).waitFor()
    const reply = async (content: string) =>
      (await admin.post(`/messages/${parent.id}/thread`, { content })).body.reply as { id: string }
    await reply('for nobody')
    await reply('@channel for those who read the thread')
    const { id } = await reply('@dora high water at noon')
    await expect.poll(() => announced(page), patience).toEqual([`admin in #${channel.name}: @dora high water at noon`])
    const led = `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ data }) => data.address)`
    expect(await ask(page, led)).toEqual([`/c/${channel.id}/t/${parent.id}/m/${id}`])

    // Dora follows the thread since it has mentioned her, and one whose message is hers.
    await reply('@here it has changed')
    const dora = await Person.signIn(site.baseUrl, 'dora@example.com')
    const own = await dora.says('who has the key?', channel)
    await admin.post(`/messages/${own.id}/thread`, { content: 'it is in the boat' })
    const texts = ['@dora high water at noon', '@here it has changed', 'it is in the boat']
    await expect
      .poll(async () => (await announced(page)).toSorted(), patience)
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
    await lookAway(context, page)
    await reply(foreign, 'a reply to somebody else')
    await reply(parents[0]!, 'one more answer')
    await expect.poll(() => announced(page), patience).toEqual([`admin in #${channel.name}: one more answer`])
    await reply(parents[1]!, 'and another')
    await reply(parents[0]!, 'the last one')
    const texts = ['and another', 'one more answer', 'the last one']
    // The browser closes a notification after 25 seconds.
    const seen = new Set<string>()
    const seenSoFar = async () => {
      for (const each of await announced(page)) seen.add(each)
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
    await lookAway(context, page)

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
}
