import type { Locator, Page, Route } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { openChannel, untilDrawn } from './visitors.ts'

/** Clicks "Show more" twice. The response with the next page comes after everything that `meanwhile` does. */
async function showMore(page: Page, within: Page | Locator, meanwhile = async () => {}) {
  const pattern = '**?*after=*'
  const held: Route[] = []
  let isHolding = true
  await page.route(pattern, async (route) => {
    if (isHolding) held.push(route)
    else await route.continue()
  })
  await within.getByRole('button', { name: 'Show more' }).dblclick()
  await meanwhile()
  await expect.poll(() => held.length).toBeGreaterThan(0)
  isHolding = false
  for (const route of held) {
    await route.continue()
    await (await route.request().response())!.finished()
  }
  await page.unroute(pattern)
  // Longer than the page needs to render the response.
  await untilDrawn(page)
}

/** Lists of channels, members and people that come in several pages, or late. */
export function listJourneys(site: Site) {
  const { signIn } = site

  test('a joined channel stays joined when a list of channels from before comes late', async () => {
    const otto = await Person.signIn(site.baseUrl, 'otto@example.com')
    await otto.creates({ name: '0 late list' })
    const vera = await signIn('vera', '/', { withoutWorker: true })
    const { promise: joined, resolve: release } = Promise.withResolvers<void>()
    const { promise: fetched, resolve: onFetched } = Promise.withResolvers<void>()
    await vera.route(
      /\/channels\?.*q=0/,
      async (route) => {
        const response = await route.fetch()
        onFetched()
        await joined
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    await vera.getByRole('button', { name: 'Browse channels' }).click()
    const dialog = vera.getByRole('dialog', { name: 'Browse channels' })
    await dialog.getByRole('button', { name: 'Join 0 late list' }).waitFor()
    await dialog.getByRole('searchbox').fill('0 late')
    await fetched
    await dialog.getByRole('button', { name: 'Join 0 late list' }).click()
    await dialog.getByRole('button', { name: 'Leave 0 late list' }).waitFor()
    release()
    await expect.poll(() => dialog.getByRole('listitem').count()).toBe(1)
    await dialog.getByRole('button', { name: 'Leave 0 late list' }).waitFor()
  })

  test('"Show more" adds the next page of channels and members once, and only to the list that it belongs to', async () => {
    const ida = await Person.signIn(site.baseUrl, 'ida.south@example.com')
    const names = Array.from({ length: 51 }, (_, n) => `shelf.${n + 10}`)
    const members: string[] = []
    // One after the other: all at once would wait for the lock of the channel that each of them joins.
    for (const name of names) {
      members.push((await Person.signIn(site.baseUrl, `${name}@example.com`)).id)
      await ida.creates({ name })
    }
    await ida.creates({ name: 'full house', members })

    const page = await signIn('ida.south', '/', { withoutWorker: true })
    await page.getByRole('button', { name: 'Browse channels' }).click()
    const dialog = page.getByRole('dialog', { name: 'Browse channels' })
    const rows = dialog.getByRole('listitem')
    const field = dialog.getByRole('searchbox')
    await field.fill('shelf')
    await rows.filter({ hasText: 'shelf.59' }).waitFor()
    expect(await rows.count()).toBe(50)
    await dialog.getByRole('status').filter({ hasText: 'Shown results: 50' }).waitFor()
    await showMore(page, dialog)
    await rows.filter({ hasText: 'shelf.60' }).waitFor()
    expect(await rows.count()).toBe(51)
    await field.fill('shel')
    await expect.poll(() => rows.count()).toBe(50)
    await showMore(page, dialog, async () => {
      await field.fill('shelf.33')
      await expect.poll(() => rows.count()).toBe(1)
    })
    expect(await rows.count()).toBe(1)
    await field.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await openChannel(page, 'full house')
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const people = page.getByRole('region', { name: 'Members' })
    const person = (name: string) => people.getByRole('button', { name: `Remove ${name}` })
    await expect.poll(() => people.getByRole('listitem').count()).toBe(50)
    await showMore(page, people)
    await expect.poll(() => people.getByRole('listitem').count()).toBe(52)
    // The others stay, and so does the end of the list.
    await person('shelf.59').click()
    await person('shelf.59').waitFor({ state: 'detached' })
    expect(await people.getByRole('listitem').count()).toBe(51)

    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { body } = await admin.post('/groups', { handle: 'shelves', name: 'Shelves', members })
    onTestFinished(async () => void (await admin.delete(`/groups/${body.group.id}`)))
    const desk = await signIn('admin', '/admin/groups', { withoutWorker: true })
    await desk.getByRole('button', { name: 'Actions for shelves' }).click()
    await desk.getByRole('menuitem', { name: 'Members' }).click()
    const inGroup = desk.getByRole('dialog', { name: 'Members of @shelves' })
    await showMore(desk, inGroup)
    await expect.poll(() => inGroup.getByRole('listitem').count()).toBe(51)
    await desk.keyboard.press('Escape')
    await desk.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'People' }).click()
    const shown = desk.getByRole('row', { name: /@example\.com/ })
    await expect.poll(() => shown.count()).toBeGreaterThan(49)
    await showMore(desk, desk, async () => {
      await desk.getByRole('searchbox', { name: 'Find a person' }).fill('shelf.33')
      await expect.poll(() => shown.count()).toBe(1)
    })
    expect(await shown.count()).toBe(1)
    // Somebody who is added meanwhile is shown first, and not a second time at their place in the list.
    await desk.getByRole('searchbox', { name: 'Find a person' }).fill('')
    await expect.poll(() => shown.count()).toBeGreaterThan(49)
    const late = desk.getByRole('row', { name: /zoe\.late@/ })
    await Person.signIn(site.baseUrl, 'zoe.late@example.com')
    await late.waitFor()
    const more = desk.getByRole('button', { name: 'Show more' })
    for (let isLast = false; !isLast; isLast = (await more.count()) === 0) {
      const before = await shown.count()
      await more.click()
      await expect.poll(async () => (await shown.count()) > before || (await more.count()) === 0).toBe(true)
    }
    expect(await late.count()).toBe(1)
  })
}
