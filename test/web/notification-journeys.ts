import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import { channels, createChannel, isAccessible, main } from './visitors.ts'
import { announced, ask, lookAway, patience, visitorsWithWorker } from './worker-visitors.ts'

/** All notifications since the first call, because the browser closes a notification after 25 seconds. */
function announcedSoFar(page: Page) {
  const seen = new Set<string>()
  return async () => {
    for (const each of await announced(page)) seen.add(each)
    return [...seen].toSorted()
  }
}

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
    const seenSoFar = announcedSoFar(page)
    await expect.poll(seenSoFar, patience).toEqual([`admin in #${channel.name}: @dora high water at noon`])
    const led = `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ data }) => data.address)`
    expect(await ask(page, led)).toEqual([`/c/${channel.id}/t/${parent.id}/m/${id}`])

    // Dora follows the thread since it has mentioned her, and one whose message is hers.
    await reply('@here it has changed')
    const dora = await Person.signIn(site.baseUrl, 'dora@example.com')
    const own = await dora.says('who has the key?', channel)
    await admin.post(`/messages/${own.id}/thread`, { content: 'it is in the boat' })
    const texts = ['@dora high water at noon', '@here it has changed', 'it is in the boat']
    await expect.poll(seenSoFar, patience).toEqual(texts.map((text) => `admin in #${channel.name}: ${text}`))
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
    await expect.poll(announcedSoFar(page), patience).toEqual(texts.map((text) => `admin in #${channel.name}: ${text}`))
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

  /** Chooses what is announced of a channel in its menu in the sidebar. */
  async function choose(page: Page, channel: string, option: string) {
    await channels(page)
      .getByRole('link', { name: new RegExp(`^${channel}`) })
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Notifications' }).click()
    const dialog = page.getByRole('dialog', { name: `Notifications of ${channel}` })
    await dialog.getByRole('combobox', { name: 'Notify me of' }).selectOption(option)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }

  test('every message of a chosen channel is announced, in one notification if the channel is busy, although it is not open', async () => {
    const { context, page: first } = await withNotifications('hana')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const hana = await Person.signIn(site.baseUrl, 'hana@example.com')
    const harbour = await admin.creates({ name: 'harbour', members: [hana.id] })
    const quay = await admin.creates({ name: 'quay', members: [hana.id] })
    await choose(first, 'harbour', 'Every message')
    const stored = async () => (await hana.get(`/channels/${harbour.id}`)).body.channel
    await expect.poll(stored, patience).toMatchObject({ notifiesOfAll: true, isMuted: false })
    const second = await context.newPage()
    const isWatching = second.waitForResponse((response) => response.url().endsWith('/saved/ids'))
    await second.goto(`${site.baseUrl}/preferences`)
    await isWatching
    await lookAway(context, first, second)
    const setClock = (now: number) => context.serviceWorkers()[0]!.evaluate(`Date.now = () => ${now}`)
    await setClock(1e12)

    await admin.says('in a channel that was not chosen', quay)
    await admin.says('a ship', harbour)
    await expect.poll(() => announced(second), patience).toEqual(['admin in #harbour: a ship'])
    await Promise.all(Array.from({ length: 12 }, (_, n) => admin.says(`ship ${n}`, harbour)))
    const { messages } = (await admin.get(`/channels/${harbour.id}/messages?limit=4`)).body
    const lines = messages.map(({ content }: { content: string }) => `admin: ${content}`).join('\n')
    await expect.poll(() => announced(second), patience).toEqual([`#harbour: ${lines}`])
    const details = (field: string) =>
      ask(
        second,
        `(await (await navigator.serviceWorker.ready).getNotifications()).map(({ data, renotify }) => ${field})`,
      )
    expect(await details('data.address')).toEqual([`/c/${harbour.id}/m/${messages.at(-1).id}`])
    expect(await details('renotify')).toEqual([false])

    await setClock(1e12 + 60_000)
    await admin.says('the last ship', harbour)
    await expect.poll(() => announced(second), patience).toEqual(['admin in #harbour: the last ship'])
    expect(await details('renotify')).toEqual([true])
    await admin.says('@hana a letter', harbour)
    await expect.poll(() => announced(second), patience).toContain('admin in #harbour: @hana a letter')

    await second.bringToFront()
    await second.getByRole('button', { name: 'Account' }).click()
    await second.getByRole('menuitem', { name: 'Sign out' }).click()
    await second.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => announced(second), patience).toEqual([])
  })

  test('of a chosen channel neither one’s own messages nor, while it is muted, others are announced', async () => {
    const { context, page } = await withNotifications('ivo')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const ivo = await Person.signIn(site.baseUrl, 'ivo@example.com')
    const mole = await admin.creates({ name: 'mole', members: [ivo.id] })
    const set = (body: object) => ivo.put(`/channels/${mole.id}/preferences`, body)
    await set({ isMuted: true, notifiesOfAll: true })
    await page.getByTitle('Muted').waitFor()
    await lookAway(context, page)
    await admin.says('quiet words', mole)
    await admin.says('@ivo loud words', mole)
    const seenSoFar = announcedSoFar(page)
    await expect.poll(seenSoFar, patience).toEqual(['admin in #mole: @ivo loud words'])

    await set({ isMuted: false })
    await page.getByTitle('Muted').waitFor({ state: 'detached' })
    await ivo.says('my own words', mole)
    await admin.says('heard again', mole)
    await expect.poll(seenSoFar, patience).toEqual(['admin in #mole: @ivo loud words', 'admin in #mole: heard again'])
  })

  test('what is announced of a channel is chosen in its settings too, on all devices, and muting keeps the choice', async () => {
    const page = await site.signIn('juno')
    await createChannel(page, 'pier')
    const other = await site.signIn('juno', new URL(page.url()).pathname)
    const choice = (of: Page) => of.getByRole('combobox', { name: 'Notify me of' })
    for (const each of [page, other]) {
      await each.getByRole('button', { name: 'Channel settings' }).click()
      await expect.poll(() => choice(each).inputValue(), patience).toBe('mentions')
    }
    await page.getByText('Desktop notifications are off in this browser').waitFor()
    await isAccessible(page)
    await choice(page).selectOption('Every message')
    await expect.poll(() => choice(other).inputValue(), patience).toBe('all')
    await choice(other).selectOption('Only my name (muted)')
    await channels(page).getByTitle('Muted').waitFor()
    expect(await choice(page).inputValue()).toBe('muted')

    await page.keyboard.press('Escape')
    await main(page).getByRole('button', { name: 'Unmute' }).click()
    await expect.poll(() => choice(other).inputValue(), patience).toBe('all')
    await choose(page, 'pier', 'Mentions')
    await expect.poll(() => choice(other).inputValue(), patience).toBe('mentions')

    const kay = await site.signIn('kay', new URL(page.url()).pathname)
    await kay.getByRole('button', { name: 'Channel settings' }).click()
    await kay.getByRole('dialog').getByText('juno').waitFor()
    expect(await choice(kay).count()).toBe(0)
  })

  test('a message without a text is announced by the names of its files', async () => {
    const { context, page } = await withNotifications('fern')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const fern = await Person.signIn(site.baseUrl, 'fern@example.com')
    const { conversation } = (await admin.post('/conversations', { targetUserId: fern.id })).body
    await page.getByRole('link', { name: /^admin/ }).waitFor()
    await lookAway(context, page)
    const messages = `/conversations/${conversation.id}/messages`
    const images = [await admin.uploadsImage(messages, 'harbour.png', png(8, 8, [0, 90, 200]))]
    const attachments = [await admin.uploads('plan.txt', 'berth 4')]
    await admin.post(messages, { content: '', images, attachments })
    await expect.poll(() => announced(page), patience).toEqual(['admin: harbour.png, plan.txt'])
  })
}
