import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { createFailing } from './failing.ts'
import type { Site } from './site.ts'

/** Dialogs whose request is refused, or is sent twice. */
export function dialogFailureJourneys(site: Site) {
  const { signIn } = site
  const { signInUnaided, meet } = createFailing(site)

  test('a conversation that is refused leaves its dialog open, with the error', async () => {
    const { eve } = await meet()
    const page = await signInUnaided('ann')
    await page.route('**/conversations', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
        : route.fallback(),
    )
    for (const [keys, name] of [
      ['Control+k', 'Switch to'],
      ['', 'New direct message'],
    ] as const) {
      if (keys) await page.keyboard.press(keys)
      else await page.getByRole('button', { name: 'New direct message' }).click()
      const dialog = page.getByRole('dialog', { name })
      await dialog.getByRole('combobox').fill(eve.userName)
      await dialog.getByRole('option').filter({ hasText: eve.userName }).waitFor()
      await dialog.getByRole('combobox').press('Enter')
      await dialog.getByRole('alert').filter({ hasText: 'Not today' }).getByRole('button', { name: 'Close' }).click()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
  })

  test('a channel that is deleted twice before the response is deleted once', async () => {
    const { eve, channel, address } = await meet()
    const page = await signIn('eve', address, { withoutWorker: true })
    const held: Route[] = []
    await page.route(`**/channels/${channel.id}`, (route) =>
      route.request().method() === 'DELETE' ? void held.push(route) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const settings = page.getByRole('dialog', { name: 'Channel settings' })
    await settings.getByRole('button', { name: 'Delete channel' }).click()
    const confirm = page.getByRole('dialog', { name: 'Delete channel' }).getByRole('button', { name: 'Delete' })
    await confirm.click()
    await expect.poll(() => held.length).toBe(1)
    await confirm.press('Enter')
    for (const route of held) await route.continue()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(held.length).toBe(1)
    expect((await eve.get(`/channels/${channel.id}`)).status).toBe(404)
  })
}
