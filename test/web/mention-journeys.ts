import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, isAccessible } from './visitors.ts'

/** The page of the messages that mention a person. */
export function mentionJourneys(site: Site) {
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)
  const link = (page: Page) =>
    page
      .getByRole('navigation', { name: 'Threads, mentions and saved messages' })
      .getByRole('link', { name: 'Mentions' })
  const list = (page: Page) => page.getByRole('region', { name: 'Mentions' })
  const mentions = (page: Page) => list(page).getByRole('article')

  test('mentions in channels, threads and conversations are listed at once, and each opens in its context', async () => {
    const [mira, nils] = [await person('mira'), await person('nils')]
    const channel = await nils.creates({ name: 'lighthouse' })
    const page = await site.signIn('mira')
    await link(page).click()
    await page.getByRole('heading', { level: 1, name: 'Mentions' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/mentions')
    expect(await link(page).getAttribute('aria-current')).toBe('page')
    await list(page).getByText('No mentions yet').waitFor()
    await isAccessible(page)

    const parent = await nils.says(`@${mira.userName} the lamp is out`, channel)
    await article(page, 'the lamp is out').waitFor()
    await nils.post(`/messages/${parent.id}/thread`, { content: `can you look, @${mira.userName}?` })
    await article(page, 'can you look').waitFor()
    const { body } = await nils.post('/conversations', { targetUserId: mira.id })
    await nils.post(`/conversations/${body.conversation.id}/messages`, { content: `@${mira.userName} are you there?` })
    await article(page, 'are you there?').waitFor()
    expect(await mentions(page).count()).toBe(3)
    expect(await mentions(page).first().textContent()).toContain('are you there?')
    await isAccessible(page)

    await nils.put(`/messages/${parent.id}`, { content: 'the lamp is out, I look myself' })
    await expect.poll(() => mentions(page).count()).toBe(2)
    await article(page, 'can you look')
      .getByRole('link')
      .filter({ has: page.locator('time') })
      .click()
    const thread = page.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('article').filter({ hasText: 'can you look' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(`/c/${channel.id}/t/${parent.id}/m/`)

    await page.goBack()
    await list(page).getByRole('link', { name: 'Thread' }).click()
    await thread.getByRole('article').filter({ hasText: 'can you look' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/c/${channel.id}/t/${parent.id}`)
    await page.goBack()
    await article(page, 'can you look').waitFor()
    await nils.delete(`/messages/${parent.id}`)
    await expect.poll(() => mentions(page).count()).toBe(1)
  })

  test('the list is page by page, has what came while the page was away, and forgets a channel that was lost', async () => {
    const [olga, nils] = [await person('olga'), await person('nils')]
    const channel = await nils.creates({ name: 'foghorn', isPrivate: true, members: [olga.id] })
    for (let n = 1; n <= 27; n++) await nils.says(`@channel signal ${n}.`, channel)
    const page = await site.signIn('olga', '/mentions')
    await article(page, 'signal 27.').waitFor()
    expect(await mentions(page).count()).toBe(25)
    await page.getByRole('button', { name: 'Show more' }).click()
    await article(page, 'signal 1.').waitFor()
    expect(await mentions(page).count()).toBe(27)
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0)

    await page.context().setOffline(true)
    await page.getByRole('status').filter({ hasText: 'Offline' }).waitFor()
    await nils.says('@here signal 28.', channel)
    await page.context().setOffline(false)
    await article(page, 'signal 28.').waitFor()

    await nils.put(`/channels/${channel.id}`, { removeMembers: [olga.id] })
    await list(page).getByText('No mentions yet').waitFor()
  })

  test('a guest finds the mentions of a group as long as they belong to it', async () => {
    const [admin, nils, lars] = [await person('admin'), await person('nils'), await person('lars')]
    const { body } = await admin.post('/groups', { handle: 'keepers', name: 'Keepers', members: [] })
    const channel = await nils.creates({ name: 'boathouse', isPrivate: true, members: [lars.id] })
    await admin.put(`/users/${lars.id}/role`, { role: 'guest' })
    await nils.says('@keepers the boat leaks', channel)
    const page = await site.signIn('lars', '/mentions')
    await list(page).getByText('No mentions yet').waitFor()
    await admin.put(`/groups/${body.group.id}/members`, { add: [lars.id] })
    await article(page, 'the boat leaks').waitFor()
    await admin.put(`/groups/${body.group.id}/members`, { remove: [lars.id] })
    await list(page).getByText('No mentions yet').waitFor()
  })
}
