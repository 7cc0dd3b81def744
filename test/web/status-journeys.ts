import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, composer, isAccessible } from './visitors.ts'

/** The custom status of people: what they tell the others for a while. */
export function statusJourneys(site: Site) {
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)
  async function setStatus(page: Page) {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Set a status' }).click()
    await text(page).waitFor()
  }
  const dialog = (page: Page) => page.getByRole('dialog', { name: 'Set a status' })
  const text = (page: Page) => dialog(page).getByRole('textbox', { name: 'What are you doing?' })
  const statusOf = async (reader: Person) => (await reader.get('/auth/me')).body.user.customStatus

  test('a status is chosen from the suggestions, shown beside the name, and removed again', async () => {
    const [ilse, jon] = [await person('ilse'), await person('jon')]
    const channel = await jon.creates({ name: 'lookout' })
    await ilse.post(`/channels/${channel.id}/join`)
    await ilse.says('a sail in the west', channel)
    const { conversation } = (await jon.post('/conversations', { targetUserId: ilse.id })).body
    await jon.post(`/conversations/${conversation.id}/messages`, { content: 'Are you there?' })
    const other = await site.signIn('jon', `/c/${channel.id}`)
    await article(other, 'a sail in the west').waitFor()

    const own = await site.signIn('ilse', `/c/${channel.id}`)
    await setStatus(own)
    await expect.poll(() => own.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('text')
    await isAccessible(own)
    await dialog(own).getByRole('button', { name: 'On holiday' }).click()
    expect(await text(own).inputValue()).toBe('On holiday')
    await dialog(own).getByRole('button', { name: 'Save' }).click()
    await dialog(own).waitFor({ state: 'detached' })
    expect(await statusOf(ilse)).toEqual({ text: 'On holiday', emoji: '🌴', expiresAt: null })

    await article(other, 'a sail in the west').getByTitle('🌴 On holiday').waitFor()
    await other.getByRole('navigation').getByTitle('🌴 On holiday').waitFor()
    await other.getByRole('link', { name: 'ilse' }).click()
    await other.getByRole('heading', { level: 1, name: 'ilse' }).waitFor()
    await other.locator('.main-head').getByText('🌴 On holiday').waitFor()
    await isAccessible(other)

    await setStatus(own)
    await dialog(own).getByRole('button', { name: 'Remove status' }).click()
    await dialog(own).waitFor({ state: 'detached' })
    await other.locator('.main-head').getByText('🌴 On holiday').waitFor({ state: 'detached' })
    await expect.poll(() => other.getByTitle('🌴 On holiday').count()).toBe(0)
    expect(await statusOf(ilse)).toBeNull()
  })

  test('a status has a text of one’s own, any emoji, and an end, by keyboard', async () => {
    const kim = await person('kim')
    const page = await site.signIn('kim')
    await setStatus(page)
    await page.keyboard.type('Painting the hull')
    await dialog(page).getByRole('button', { name: 'Emoji' }).press('Enter')
    await page.getByRole('searchbox', { name: 'Search emoji' }).fill('paintbrush')
    await page.keyboard.press('Enter')
    await dialog(page).getByRole('button', { name: 'Emoji' }).getByText('🖌️').waitFor()
    await dialog(page).getByLabel('Remove automatically').selectOption('After 1 hour')
    const before = Date.now()
    await text(page).press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    const { expiresAt, ...set } = await statusOf(kim)
    expect(set).toEqual({ text: 'Painting the hull', emoji: '🖌️' })
    expect(expiresAt).toBeGreaterThanOrEqual(before + 3_600_000)

    // Another text keeps emoji and end, and an empty one without an emoji is no status.
    await setStatus(page)
    await text(page).fill('Still painting')
    await text(page).press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    expect(await statusOf(kim)).toEqual({ text: 'Still painting', emoji: '🖌️', expiresAt })

    await setStatus(page)
    await dialog(page).getByRole('button', { name: 'Emoji 🖌️' }).waitFor()
    await dialog(page).getByRole('button', { name: 'Remove emoji' }).press('Enter')
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('text')
    await text(page).press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    expect(await statusOf(kim)).toEqual({ text: 'Still painting', emoji: null, expiresAt })
  })

  test('the emoji of a status is in the lists in which people are chosen, and not in the names of their options', async () => {
    const [olaf, pia] = [await person('olaf'), await person('pia')]
    const channel = await pia.creates({ name: 'galley' })
    await olaf.post(`/channels/${channel.id}/join`)
    await olaf.put('/users/me/status', { text: 'At lunch', emoji: '🍽️' })
    await pia.post('/conversations', { targetUserId: olaf.id })
    const page = await site.signIn('pia', `/c/${channel.id}`)
    const emoji = '🍽️ At lunch'
    const option = (name: RegExp) => page.getByRole('option', { name })

    await page.keyboard.press('Control+k')
    await option(/^olaf( olaf@example\.com)?$/)
      .getByTitle(emoji)
      .waitFor()
    await page.keyboard.press('Escape')
    await composer(page, 'galley').pressSequentially('@ol')
    await option(/^@olaf olaf@example\.com$/)
      .getByTitle(emoji)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'olaf' }).getByTitle(emoji).waitFor()
    await isAccessible(page)
  })

  test('the emoji of a status is visible in the head of a conversation on a narrow page, also beside a long name', async () => {
    const [quin, ravi] = [await person('quin'), await person('ravi')]
    await quin.put('/users/me', { userName: 'Quintessa Quartermaine of the Seven Seas and the Four Winds' })
    await quin.put('/users/me/status', { text: 'On the high seas until the snow melts', emoji: '⛵' })
    const { conversation } = (await ravi.post('/conversations', { targetUserId: quin.id })).body
    const page = await site.signIn('ravi', `/c/${conversation.id}`, { viewport: { width: 320, height: 640 } })
    const status = page.locator('.main-head').getByText('⛵ On the high seas')
    await expect.poll(() => status.isVisible()).toBe(true)
    // The emoji is as wide as its line is high.
    const shown = () =>
      status.evaluate((element) => element.clientWidth - parseFloat(getComputedStyle(element).paddingInlineStart))
    await expect.poll(shown).toBeGreaterThanOrEqual(20)
  })

  test('a status is not shown after its end, also when no event comes', async () => {
    const [sven, thea] = [await person('sven'), await person('thea')]
    const channel = await sven.creates({ name: 'night watch' })
    await thea.post(`/channels/${channel.id}/join`)
    await thea.put('/users/me/status', { text: 'Asleep', emoji: '💤', expiresAt: Date.now() + 3_600_000 })
    await thea.says('the lamps are lit', channel)
    const page = await site.signIn('sven', `/c/${channel.id}`)
    await page.clock.install()
    await page.reload()
    const emoji = article(page, 'the lamps are lit').getByTitle('💤 Asleep')
    await emoji.waitFor()
    await page.clock.fastForward(3_601_000)
    await emoji.waitFor({ state: 'detached' })
  })

  test('the status of a deactivated person is not shown', async () => {
    const [ulla, vera, admin] = [await person('ulla'), await person('vera'), await person('admin')]
    const channel = await vera.creates({ name: 'chart room' })
    await ulla.post(`/channels/${channel.id}/join`)
    await ulla.put('/users/me/status', { text: 'Reading', emoji: '📖' })
    await ulla.says('the stars are out', channel)
    const page = await site.signIn('vera', `/c/${channel.id}`)
    const emoji = article(page, 'the stars are out').getByTitle('📖 Reading')
    await emoji.waitFor()
    expect(await admin.put(`/users/${ulla.id}/active`, { isActive: false })).toMatchObject({ status: 200 })
    await emoji.waitFor({ state: 'detached' })
  })

  test('a refused status stays in the dialog, with the reason', async () => {
    await person('lou')
    const page = await site.signIn('lou')
    await setStatus(page)
    await text(page).fill('turned \u202e around')
    await text(page).press('Enter')
    await dialog(page).getByRole('alert').waitFor()
    expect(await text(page).inputValue()).toContain('turned')
  })

  test('full name and title are changed in the profile, and others see them', async () => {
    const [mia, jon] = [await person('mia'), await person('jon')]
    const channel = await mia.creates({ name: 'chain locker' })
    await mia.says('the anchor holds', channel)
    const own = await site.signIn('mia', '/profile')
    await own.getByRole('button', { name: 'Change full name and title' }).click()
    const dialog = own.getByRole('dialog', { name: 'Change full name and title' })
    await dialog.getByRole('textbox', { name: 'Full name' }).fill('Mia Marlow')
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Boatswain')
    await isAccessible(own)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await own.getByRole('definition').filter({ hasText: 'Boatswain' }).waitFor()
    await jon.post(`/channels/${channel.id}/join`)
    const other = await site.signIn('jon', `/c/${channel.id}`)
    await article(other, 'the anchor holds').getByRole('button', { name: 'mia' }).click()
    await other.getByRole('dialog', { name: 'mia' }).getByText('Mia Marlow').waitFor()
    await other.getByRole('dialog', { name: 'mia' }).getByText('Boatswain').waitFor()
  })
  test('a person whose directory provides full name and title changes only the name', async () => {
    const [ned, admin] = [await person('ned'), await person('admin')]
    const { token } = (await admin.post('/admin/scim-clients', { name: 'Entra' })).body
    const directory = new Person(site.baseUrl, admin, token)
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User']
    const provided = { schemas, userName: 'ned@example.com', displayName: 'Ned Nilsen', title: 'Cook' }
    expect(await directory.put(`/scim/v2/Users/${ned.id}`, provided)).toMatchObject({ status: 200 })
    const page = await site.signIn('ned', '/profile')
    for (const value of ['Ned Nilsen', 'Cook']) await page.getByRole('definition').filter({ hasText: value }).waitFor()
    await page.getByText('Provided by your organisation').waitFor()
    expect(await page.getByRole('button', { name: 'Change full name and title' }).count()).toBe(0)
    await page.getByRole('textbox', { name: 'Name' }).fill('ned of the galley')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await ned.get('/auth/me')).body.user).toMatchObject({
      userName: 'ned of the galley',
      displayName: 'Ned Nilsen',
    })
  })
}
