import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, channelIdOf, channels, composer, createChannel, hasFocus, openChannel, say } from './visitors.ts'

/** What is unread, and where the page shows it. */
export function unreadJourneys(site: Site) {
  const { signIn } = site

  test('a channel with a draft is marked in the sidebar, and the icon of the tab shows unread mentions', async () => {
    const sam = await signIn('sam')
    await createChannel(sam, 'stern')
    await createChannel(sam, 'prow')
    await composer(sam, 'prow').fill('half a thought')
    await openChannel(sam, 'stern')
    await channels(sam).getByRole('link', { name: 'prow' }).getByText('Draft').waitFor()
    const icon = () => sam.locator('link[rel=icon]').getAttribute('href')
    expect(await icon()).toBe('/icons/192.png')

    const tom = await Person.signIn(site.baseUrl, 'tom@example.com')
    const { id } = (await tom.get('/users?q=sam@')).body.users[0]
    const { conversation } = (await tom.post('/conversations', { targetUserId: id })).body
    await tom.post(`/conversations/${conversation.id}/messages`, { content: 'Are you there?' })
    await expect.poll(icon, { timeout: 20_000 }).toMatch(/^blob:/)
    await sam.getByRole('link', { name: /^tom/ }).click()
    await expect.poll(icon, { timeout: 20_000 }).toBe('/icons/192.png')
  })

  test('on a phone, messages below an open thread or the open navigation are unread, and cannot be reached', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const keelson = await eve.creates({ name: 'keelson' })
    const parent = await eve.says('who has the lamp?', keelson)
    const finn = await Person.signIn(site.baseUrl, 'finn@example.com')
    await finn.post(`/channels/${keelson.id}/join`)
    const page = await signIn('finn', `/c/${keelson.id}/t/${parent.id}`, { viewport: { width: 390, height: 844 } })
    const thread = page.getByRole('complementary', { name: 'Thread' })
    // The list below the thread is loaded, although it cannot be seen.
    const below = page.locator('main').getByRole('article', { includeHidden: true })
    await below.filter({ hasText: 'who has the lamp?' }).waitFor({ state: 'attached' })
    const unread = async () => (await finn.get(`/channels/${keelson.id}`)).body.channel.unreadCount
    await eve.says('below the thread', keelson)
    await expect.poll(() => page.title()).toMatch(/^\(1\) #keelson/)
    expect(await unread()).toBe(1)
    expect(await page.getByRole('main').count()).toBe(0)
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    await article(page, 'below the thread').waitFor()
    await page.getByText('New messages').waitFor()
    await expect.poll(unread).toBe(0)

    const navigation = page.getByRole('button', { name: 'Navigation' })
    await navigation.click()
    await eve.says('below the navigation', keelson)
    await expect.poll(() => page.title()).toMatch(/^\(1\) #keelson/)
    expect(await unread()).toBe(1)
    await navigation.click()
    await article(page, 'below the navigation').waitFor()
    await expect.poll(unread).toBe(0)

    // The focus returns into the channel that the thread covered.
    await eve.post(`/messages/${parent.id}/thread`, { content: 'I have' })
    const replies = article(page, 'who has the lamp?').getByRole('link', { name: /^1 reply/ })
    await replies.press('Enter')
    await thread.getByRole('textbox', { name: 'Reply' }).press('Escape')
    await hasFocus(replies)
  })

  test('"Mark as unread" counts the messages of others that are not deleted, until the person writes in the channel', async () => {
    const rhea = await signIn('rhea')
    await createChannel(rhea, 'gravel')
    const id = channelIdOf(rhea)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const eveSays = async (text: string) => {
      const message = await eve.says(text, { id })
      await article(rhea, text).waitFor()
      return message
    }
    await eveSays('one.')
    const two = await eveSays('two.')
    await say(rhea, 'gravel', 'mine')
    const three = await eveSays('three.')
    await eveSays('four.')
    await eve.delete(`/messages/${three.id}`)
    await article(rhea, 'three.').waitFor({ state: 'detached' })

    const unread = (count: number) =>
      channels(rhea).getByRole('link', { name: new RegExp(`^gravel.* ${count} unread messages?$`) })
    await act(rhea, 'one.', 'Mark as unread')
    await unread(3).waitFor()
    await expect.poll(() => rhea.title()).toMatch(/^\(3\) #gravel/)
    await eve.delete(`/messages/${two.id}`)
    await unread(2).waitFor()
    await eveSays('five.')
    await unread(3).waitFor()
    await openChannel(rhea, 'General')
    await rhea.reload()
    await unread(3).waitFor()
    await openChannel(rhea, 'gravel')
    await channels(rhea)
      .getByRole('link', { name: /gravel.*unread/ })
      .waitFor({ state: 'detached' })

    await act(rhea, 'four.', 'Mark as unread')
    await unread(2).waitFor()
    await say(rhea, 'gravel', 'mine too')
    await channels(rhea)
      .getByRole('link', { name: /gravel.*unread/ })
      .waitFor({ state: 'detached' })
  })

  test('a mention that is marked as unread is shown as a mention, also in a muted channel', async () => {
    const rhea = await signIn('rhea')
    await createChannel(rhea, 'shingle')
    const shingle = { id: channelIdOf(rhea) }
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${shingle.id}/join`)
    await eve.says('low tide.', shingle)
    await eve.says('@rhea look.', shingle)
    await article(rhea, '@rhea look.').waitFor()
    const icon = () => rhea.locator('link[rel=icon]').getAttribute('href')
    const link = (state: string) => channels(rhea).getByRole('link', { name: new RegExp(`^shingle.* ${state}$`) })
    await act(rhea, 'low tide.', 'Mark as unread')
    await link('2 unread messages, 1 mention').waitFor()
    await expect.poll(icon).toMatch(/^blob:/)
    await rhea.getByRole('button', { name: 'Mute' }).click()
    await link('1 unread message, 1 mention').waitFor()
  })

  test('"Mark as unread" counts the messages that are not loaded too', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const keel = await eve.creates({ name: 'keel' })
    const sent: { id: string }[] = []
    for (let n = 1; n <= 90; n++) sent.push(await eve.says(`plank ${n}.`, keel))
    const ria = await Person.signIn(site.baseUrl, 'ria@example.com')
    await ria.post(`/channels/${keel.id}/join`)
    await ria.says('mine', keel)
    await eve.delete(`/messages/${sent[84]!.id}`)
    const page = await signIn('ria', `/c/${keel.id}/m/${sent[9]!.id}`, { withoutWorker: true })
    const unread = (count: number) =>
      channels(page).getByRole('link', { name: new RegExp(`^keel.* ${count} unread messages$`) })
    await act(page, 'plank 10.', 'Mark as unread')
    await unread(80).waitFor()
    await eve.delete(`/messages/${sent[79]!.id}`)
    await unread(79).waitFor()

    // Until the messages can be fetched, only their number is known. The mark stays when all known ones are deleted.
    await page.route('**/messages?*after=*', (route) => route.abort())
    await page.goto(`${site.baseUrl}/c/${keel.id}/m/${sent[9]!.id}`)
    await act(page, 'plank 10.', 'Mark as unread')
    for (const { id } of sent.slice(9, 60).reverse()) await eve.delete(`/messages/${id}`)
    await article(page, 'plank 10.').waitFor({ state: 'detached' })
    await channels(page)
      .getByRole('link', { name: /^keel.*unread/ })
      .waitFor()
  })
}
