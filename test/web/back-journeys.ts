import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { phone } from './phones.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import { act, article, channels } from './visitors.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name })
const navigation = (page: Page) => channels(page).getByRole('button', { name: 'Create channel' })

/** Opens something above the view, and waits until "Back" closes it. `layers` is the number of what is open then. */
async function openAbove(page: Page, open: () => Promise<void>, layers = 1) {
  await open()
  await expect.poll(() => page.evaluate('history.state?.layers')).toBe(layers)
}

/** "Back" on a phone, while something is open above the channel. */
export function backJourneys(site: Site) {
  /** The page of a person who has come from one channel to another, which has a message with an image. */
  async function arrive(name: string) {
    const person = await Person.signIn(site.baseUrl, `${name}@example.com`)
    const [from, to] = [await person.creates({ name: `${name} pier` }), await person.creates({ name: `${name} jetty` })]
    const images = [await person.uploadsImage(`/channels/${to.id}/messages`, 'jetty.png', png(60, 40, [20, 60, 90]))]
    await person.sends(to, { content: 'at high water', images })
    const page = await site.signIn(name, `/c/${from.id}`, phone)
    await heading(page, from.name).waitFor()
    await openAbove(page, () => press(page, 'Navigation'))
    await channels(page).getByRole('link', { name: to.name }).click()
    await heading(page, to.name).waitFor()
    return { page, from, to }
  }

  test('it closes the navigation, a dialog, the image viewer and a menu, one after the other, and then opens the previous channel', async () => {
    const { page, from, to } = await arrive('nora')
    await openAbove(page, () => press(page, 'Navigation'))
    await openAbove(page, () => press(page, 'Create channel'), 2)
    await page.goBack()
    await dialog(page, 'Create channel').waitFor({ state: 'detached' })
    await navigation(page).waitFor()
    await page.goBack()
    await navigation(page).waitFor({ state: 'hidden' })

    for (const [name, open] of [
      ['Pinned messages', () => press(page, 'Pinned messages')],
      ['jetty.png', () => article(page, 'at high water').getByRole('button', { name: 'jetty.png' }).click()],
    ] as const) {
      await open()
      await dialog(page, name).waitFor()
      await page.goBack()
      await dialog(page, name).waitFor({ state: 'detached' })
    }
    await press(page, 'Account')
    await page.getByRole('menuitem', { name: 'Profile' }).waitFor()
    await page.goBack()
    await page.getByRole('menu').waitFor({ state: 'detached' })

    expect(new URL(page.url()).pathname).toBe(`/c/${to.id}`)
    await page.goBack()
    await heading(page, from.name).waitFor()
  })

  test('it skips what was closed by other means or by a reload, and "Forward" opens the channel again', async () => {
    const { page, from, to } = await arrive('odin')
    await openAbove(page, () => act(page, 'at high water', 'Delete'))
    // The menu has one layer too, so the number of layers does not say that the dialog has opened.
    await dialog(page, 'Delete message').waitFor()
    await page.keyboard.press('Escape')
    await dialog(page, 'Delete message').waitFor({ state: 'detached' })
    await press(page, 'Navigation')
    await openAbove(page, () => press(page, 'Create channel'), 2)
    await dialog(page, 'Create channel').getByRole('button', { name: 'Close' }).click()
    await press(page, 'Navigation')
    await navigation(page).waitFor({ state: 'hidden' })
    await page.goBack()
    await heading(page, from.name).waitFor()
    await page.goForward()
    await heading(page, to.name).waitFor()

    await openAbove(page, () => press(page, 'Pinned messages'))
    await page.reload()
    await heading(page, to.name).waitFor()
    await press(page, 'Navigation')
    await openAbove(page, () => press(page, 'Create channel'), 2)
    await page.keyboard.press('Escape')
    await dialog(page, 'Create channel').waitFor({ state: 'detached' })
    await press(page, 'Navigation')
    await navigation(page).waitFor({ state: 'hidden' })
    await page.goBack()
    await heading(page, from.name).waitFor()
  })

  test('it leads from a channel that was chosen in the navigation to the one before', async () => {
    const { page, from, to } = await arrive('paz')
    await openAbove(page, () => press(page, 'Navigation'))
    await channels(page).getByRole('link', { name: 'General' }).click()
    await heading(page, 'General').waitFor()
    await page.goBack()
    await heading(page, to.name).waitFor()
    await page.goBack()
    await heading(page, from.name).waitFor()
  })
}
