import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, channels, composer, createChannel, isAccessible, openChannel } from './visitors.ts'

/** "Switch to", which Ctrl+K opens. */
export function quickSwitcherJourneys(site: Site) {
  const { signIn } = site

  test('Ctrl+K and Enter return to the previous channel, and unread mentions come before it', async () => {
    const tess = await signIn('tess')
    for (const name of ['orchard', 'meadow', 'brook']) await createChannel(tess, name)
    await openChannel(tess, 'meadow')
    const options = tess.getByRole('dialog', { name: 'Switch to' }).getByRole('option')
    await tess.keyboard.press('Control+k')
    await options.nth(2).waitFor()
    expect(await options.nth(0).textContent()).toBe('brook')
    expect(await options.nth(1).textContent()).toBe('orchard')
    expect(await options.last().textContent()).toBe('meadow')
    await tess.keyboard.press('Enter')
    await tess.getByRole('heading', { level: 1, name: 'brook' }).waitFor()

    const uma = await Person.signIn(site.baseUrl, 'uma@example.com')
    const { channels: all } = (await uma.get('/channels?q=orchard')).body
    await uma.says('@tess the apples are ripe', all[0])
    await channels(tess)
      .getByRole('link', { name: /^orchard.*mention/ })
      .waitFor()
    await tess.keyboard.press('Control+k')
    await options.nth(1).waitFor()
    expect(await options.nth(0).textContent()).toBe('orchard')
    expect(await options.nth(1).textContent()).toBe('meadow')
    await tess.keyboard.press('Escape')

    // The address of a bot is an invented one.
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { body } = await admin.post('/bots', { userName: 'gardener', displayName: 'Waters the plants' })
    onTestFinished(async () => void (await admin.delete(`/bots/${body.bot.id}`)))
    await tess.keyboard.press('Control+k')
    await tess.getByRole('combobox', { name: 'Channel or person' }).fill('gardener')
    await tess.getByRole('option', { name: 'gardener Waters the plants', exact: true }).waitFor()
    await tess.keyboard.press('Escape')
    await composer(tess, 'brook').fill('@gard')
    await tess.getByRole('option', { name: '@gardener Waters the plants', exact: true }).waitFor()
  })

  test('the marked choice of Ctrl+K stays marked when others come, and a search without choices says so', async () => {
    const zeno = await Person.signIn(site.baseUrl, 'zeno@example.com')
    await zeno.creates({ name: 'weir' })
    const yann = await signIn('yann', '/', { withoutWorker: true })
    for (const name of ['upper weir', 'lower weir', 'elsewhere']) await createChannel(yann, name)
    const comes = Promise.withResolvers<void>()
    const searches = /\/channels\?.*\bq=weir/
    await yann.route(searches, async (route) => {
      await comes.promise
      await route.continue()
    })
    await yann.keyboard.press('Control+k')
    const dialog = yann.getByRole('dialog', { name: 'Switch to' })
    const field = dialog.getByRole('combobox')
    const marked = dialog.getByRole('option', { selected: true })
    await field.fill('weir')
    await expect.poll(() => dialog.getByRole('option').count()).toBe(2)
    await field.press('ArrowDown')
    await marked.filter({ hasText: 'upper weir' }).waitFor()
    comes.resolve()
    await expect.poll(() => dialog.getByRole('option').first().textContent()).toBe('weir')
    await marked.filter({ hasText: 'upper weir' }).waitFor()
    await field.press('Enter')
    await yann.getByRole('heading', { level: 1, name: 'upper weir' }).waitFor()

    await yann.keyboard.press('Control+k')
    await field.fill('nothing like this')
    await dialog.getByText('Nothing was found').waitFor()
    await yann.route(/\/channels\?.*\bq=/, (route) => route.fulfill({ status: 403, json: { error: 'Not now' } }))
    await field.fill('nothing like that')
    await dialog.getByRole('alert').filter({ hasText: 'Not now' }).waitFor()
    expect(await dialog.getByText('Nothing was found').count()).toBe(0)
    await isAccessible(yann)
    await field.fill('lower')
    await dialog.getByRole('alert').waitFor({ state: 'detached' })
    await marked.filter({ hasText: 'lower weir' }).waitFor()
  })

  test('Ctrl+K and the icon of the tab count messages that the person has marked as unread', async () => {
    const willa = await signIn('willa')
    for (const name of ['thicket', 'pasture']) await createChannel(willa, name)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const { id } = (await eve.get('/users?q=willa@')).body.users[0]
    const { conversation } = (await eve.post('/conversations', { targetUserId: id })).body
    await eve.post(`/conversations/${conversation.id}/messages`, { content: 'for later' })
    const icon = () => willa.locator('link[rel=icon]').getAttribute('href')
    await willa.getByRole('link', { name: /^eve.*1 unread message$/ }).click()
    await expect.poll(icon).toBe('/icons/192.png')
    await act(willa, 'for later', 'Mark as unread')
    await willa.getByRole('link', { name: /^eve.*1 unread message$/ }).waitFor()
    await openChannel(willa, 'thicket')
    await openChannel(willa, 'pasture')

    const options = willa.getByRole('dialog', { name: 'Switch to' }).getByRole('option')
    await willa.keyboard.press('Control+k')
    await options.nth(1).waitFor()
    expect(await options.nth(0).getByText('eve', { exact: true }).count()).toBe(1)
    expect(await options.nth(1).textContent()).toBe('thicket')
    await expect.poll(icon).toMatch(/^blob:/)
  })
}
