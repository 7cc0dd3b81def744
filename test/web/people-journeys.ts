import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import {
  article,
  channelIdOf,
  channels,
  composer,
  createChannel,
  hasFocus,
  isAccessible,
  openChannel,
} from './visitors.ts'

/** People, their profiles, and the members of channels. */
export function peopleJourneys(site: Site) {
  const { signIn } = site

  test('removing a member of a channel sends only this change, not the list of all members', async () => {
    const may = await signIn('may', '/', { withoutWorker: true })
    await createChannel(may, 'closet')
    const channelId = channelIdOf(may)
    const guest = await Person.signIn(site.baseUrl, 'moth@example.com')
    await guest.post(`/channels/${channelId}/join`)
    await may.getByRole('button', { name: 'Channel settings' }).click()
    const remove = may.getByRole('button', { name: 'Remove moth' })
    const sent = may.waitForRequest((request) => request.method() === 'PUT' && request.url().endsWith(channelId))
    await remove.click()
    expect((await sent).postDataJSON()).toEqual({ removeMembers: [guest.id] })
    await remove.waitFor({ state: 'detached' })
  })

  test('the name of an author opens their card, which has a button to write to them', async () => {
    const nell = await signIn('nell')
    await createChannel(nell, 'bridge')
    const ned = await Person.signIn(site.baseUrl, 'ned@example.com')
    const channelId = channelIdOf(nell)
    await ned.post(`/channels/${channelId}/join`)
    await ned.says('all clear', { id: channelId })
    await article(nell, 'all clear').getByRole('button', { name: 'ned', exact: true }).click()
    const card = nell.getByRole('dialog', { name: 'ned' })
    await card.getByText('ned@example.com').waitFor()
    await isAccessible(nell)
    await card.getByRole('button', { name: 'Message ned' }).click()
    await nell.getByRole('heading', { level: 1, name: 'ned' }).waitFor()
    await card.waitFor({ state: 'detached' })
  })

  test('a name in the list of members opens the card of the person, also from the menu of the sidebar', async () => {
    const nell = await signIn('nell')
    await createChannel(nell, 'gangway')
    const ned = await Person.signIn(site.baseUrl, 'ned@example.com')
    await ned.post(`/channels/${channelIdOf(nell)}/join`)
    const settings = nell.getByRole('dialog', { name: 'Channel settings' })
    const name = settings.getByRole('button', { name: 'ned', exact: true })
    const card = nell.getByRole('dialog', { name: 'ned' })
    await nell.getByRole('button', { name: 'Channel settings' }).click()
    await name.press('Enter')
    await card.getByText('ned@example.com').waitFor()
    await nell.keyboard.press('Escape')
    await card.waitFor({ state: 'detached' })
    await hasFocus(name)
    await nell.keyboard.press('Escape')
    await settings.waitFor({ state: 'detached' })

    await channels(nell).getByRole('link', { name: 'gangway' }).click({ button: 'right' })
    await nell.getByRole('menuitem', { name: 'Channel settings' }).click()
    await name.click()
    await card.getByRole('button', { name: 'Message ned' }).click()
    await nell.getByRole('heading', { level: 1, name: 'ned' }).waitFor()
    await expect.poll(() => nell.getByRole('dialog').count()).toBe(0)
  })

  test('a click on an avatar or on a mention opens the card of the person', async () => {
    const nora = await signIn('norma')
    await createChannel(nora, 'rigging')
    const olaf = await Person.signIn(site.baseUrl, 'olaf@example.com')
    const channel = { id: channelIdOf(nora) }
    await olaf.says('ask @norma or @channel', channel)
    const message = article(nora, 'ask @norma')
    const cardOf = (name: string) => nora.getByRole('dialog', { name })
    // The code is loaded after the first view. The card covers the avatar, so a real click comes only when it is closed.
    const opensCard = async () => {
      await message.locator('.avatar').dispatchEvent('click')
      return cardOf('olaf').count()
    }
    await expect.poll(opensCard).toBe(1)
    await nora.keyboard.press('Escape')
    await cardOf('olaf').waitFor({ state: 'detached' })
    await message.locator('.avatar').click()
    await cardOf('olaf').waitFor()
    await nora.keyboard.press('Escape')
    await message.getByText('@norma', { exact: true }).click()
    await cardOf('norma').waitFor()
    await nora.keyboard.press('Escape')
    await message.getByText('@channel', { exact: true }).click()
    expect(await nora.getByRole('dialog').count()).toBe(0)
  })

  test('adding a member of a channel does not remove somebody who joined meanwhile', async () => {
    const ola = await signIn('ola', '/', { withoutWorker: true })
    await createChannel(ola, 'boom')
    const channelId = channelIdOf(ola)
    const [pia, rob] = [
      await Person.signIn(site.baseUrl, 'pia@example.com'),
      await Person.signIn(site.baseUrl, 'rob.mast@example.com'),
    ]
    await ola.getByRole('button', { name: 'Channel settings' }).click()
    // Somebody joins after the page has fetched the members, and before its change arrives.
    await ola.route(`**/channels/${channelId}`, async (route) => {
      if (route.request().method() === 'PUT') await pia.post(`/channels/${channelId}/join`)
      await route.continue()
    })
    const members = ola.getByRole('region', { name: 'Members' })
    await members.getByRole('button', { name: 'Add a member' }).click()
    await ola.getByRole('dialog', { name: 'Add a member' }).getByRole('combobox').fill('rob.mast')
    await ola.keyboard.press('Enter')
    await members.getByRole('button', { name: 'Remove rob.mast' }).waitFor()
    const { channel } = (await pia.get(`/channels/${channelId}`)).body
    expect(channel.members).toEqual(expect.arrayContaining([pia.id, rob.id]))
  })

  test('a picture that is larger than the server takes is made smaller', async () => {
    const page = await signIn('kara', '/profile')
    // Programs ignore what is behind the end of a picture.
    const buffer = Buffer.concat([png(900, 600, [20, 120, 160]), Buffer.alloc(1_200_000)])
    await page.getByLabel('Picture').last().setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer })
    await page.getByRole('button', { name: 'Remove picture' }).waitFor()
    const face = page.getByRole('region', { name: 'Picture' }).locator('img[src^="blob:"]')
    await face.waitFor()
    expect(
      await face.evaluate(({ naturalWidth, naturalHeight }: HTMLImageElement) => [naturalWidth, naturalHeight]),
    ).toEqual([256, 256])
  })

  test('a form is busy until its response comes, and then shows the error', async () => {
    const page = await signIn('lars', '/profile', { withoutWorker: true })
    const held = Promise.withResolvers<Route>()
    await page.route('**/users/me', (route) =>
      route.request().method() === 'PUT' ? held.resolve(route) : route.continue(),
    )
    const name = page.getByRole('textbox', { name: 'Name' })
    const form = page.locator('form', { has: name })
    await name.fill('Lars the late')
    await name.press('Enter')
    const route = await held.promise
    expect(await form.getAttribute('aria-busy')).toBe('true')
    await route.fulfill({ status: 409, json: { error: 'Somebody has this name', code: 'conflict' } })
    await page.getByRole('alert').filter({ hasText: 'Somebody has this name' }).waitFor()
    expect(await form.getAttribute('aria-busy')).toBe(null)
  })

  test('a channel that is deleted while it is open says so, and the focus is on the heading', async () => {
    const mo = await Person.signIn(site.baseUrl, 'mo@example.com')
    const channel = await mo.creates({ name: 'short-lived' })
    const page = await signIn('nils', `/c/${channel.id}`)
    await hasFocus(composer(page, 'short-lived'))
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('dialog', { name: 'Channel settings' }).waitFor()
    await mo.delete(`/channels/${channel.id}`)
    await page.getByText('The channel was deleted, or you may not read it any more.').waitFor()
    await hasFocus(page.getByRole('heading', { level: 1, name: 'Not found' }))
  })

  test('a form says "Saved" only until the person changes it again', async () => {
    const page = await signIn('jana', '/profile')
    const saved = page.getByText('Saved', { exact: true })
    await page.getByRole('textbox', { name: 'Name' }).fill('Jana the first')
    await page.keyboard.press('Enter')
    await saved.waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Jana the second')
    await saved.waitFor({ state: 'detached' })
  })

  test('the card of a removed person has their name, and says that they are gone', async () => {
    const dan = await signIn('dan')
    await createChannel(dan, 'gunwale')
    const gus = await Person.signIn(site.baseUrl, 'gus@example.com')
    const id = channelIdOf(dan)
    await gus.post(`/channels/${id}/join`)
    const farewell = await gus.says('farewell', { id })
    await gus.post(`/messages/${farewell.id}/reactions`, { reaction: '⚓' })
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    await admin.delete(`/users/${gus.id}`)
    await article(dan, 'farewell').getByRole('button', { name: 'gus', exact: true }).click()
    const card = dan.getByRole('dialog', { name: 'gus' })
    await card.getByText('This person is no longer on this server.').waitFor()
    await isAccessible(dan)
    await dan.keyboard.press('Escape')
    const reaction = article(dan, 'farewell').getByRole('button', { name: '⚓ 1' })
    await reaction.hover()
    await expect.poll(() => reaction.getAttribute('title')).toBe('+1')
  })

  test('a person is asked before they leave a private channel, which they cannot join again', async () => {
    const owner = await Person.signIn(site.baseUrl, 'owen@example.com')
    const pia = await Person.signIn(site.baseUrl, 'pia@example.com')
    await owner.creates({ name: 'crypt', isPrivate: true, members: [pia.id] })
    await owner.creates({ name: 'vault', isPrivate: true, members: [pia.id] })
    const page = await signIn('pia')
    const link = (name: string) => channels(page).getByRole('link', { name })
    const question = page.getByRole('dialog', { name: 'Leave channel' })
    await openChannel(page, 'crypt')
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('button', { name: 'Leave channel' }).click()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Leave channel' }).click()
    await question.getByRole('button', { name: 'Leave', exact: true }).click()
    await link('crypt').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Browse channels' }).click()
    await page.getByRole('searchbox', { name: 'Find a channel' }).fill('vault')
    await page.getByRole('button', { name: 'Leave vault' }).click()
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect(await link('vault').count()).toBe(1)
    await page.getByRole('button', { name: 'Leave vault' }).click()
    await question.getByRole('button', { name: 'Leave', exact: true }).click()
    await link('vault').waitFor({ state: 'detached' })
  })

  test('whoever leaves or deletes a channel is led to another one, and the others are told', async () => {
    const ada = await signIn('ada')
    // The first channel of the list is the one that the home page opens.
    await createChannel(ada, 'aaa left')
    await ada.getByRole('button', { name: 'Channel settings' }).click()
    await ada.getByRole('button', { name: 'Leave channel' }).click()
    await ada.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await createChannel(ada, 'aaa gone')
    const ben = await signIn('ben', new URL(ada.url()).pathname)
    await ben.getByRole('heading', { level: 1, name: 'aaa gone' }).waitFor()
    const join = ben.getByRole('button', { name: 'Join channel' })
    await join.click()
    await join.waitFor({ state: 'detached' })

    // Whoever has left a public channel in another window may still read it in this one.
    await ben.evaluate(`new MutationObserver(() => {
      if (document.querySelector('h1')?.textContent === 'Not found') document.documentElement.dataset.wasNotFound = ''
    }).observe(document.body, { childList: true, subtree: true })`)
    const me = await Person.signIn(site.baseUrl, 'ben@example.com')
    await me.post(`${new URL(ben.url()).pathname.replace('/c/', '/channels/')}/leave`)
    await join.waitFor()
    expect(await ben.locator('[data-was-not-found]').count()).toBe(0)

    await ada.getByRole('button', { name: 'Channel settings' }).click()
    await ada.getByRole('button', { name: 'Delete channel' }).click()
    await ada.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await ada.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await ben.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
  })

  test('the number of members opens the settings of the channel, which list them', async () => {
    const xaver = await signIn('xaver')
    await createChannel(xaver, 'topsail')
    await xaver.getByRole('button', { name: '1 member', exact: true }).click()
    const settings = xaver.getByRole('dialog', { name: 'Channel settings' })
    await settings.getByText('xaver').waitFor()
    await isAccessible(xaver)
  })

  test('"Create channel" says what a private channel is', async () => {
    const tilda = await signIn('tilda')
    await tilda.getByRole('button', { name: 'Create channel' }).click()
    const dialog = tilda.getByRole('dialog', { name: 'Create channel' })
    const described = await dialog.getByRole('checkbox', { name: 'Private', exact: true }).evaluate((box) => {
      const id = box.getAttribute('aria-describedby')
      return id && document.getElementById(id)?.textContent
    })
    expect(described).toMatch(/^Only members/)
    await isAccessible(tilda)
  })
}
