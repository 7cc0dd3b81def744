import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, channels, createChannel, openChannel, say } from './visitors.ts'

/** What a person chooses in the preferences and the profile. */
export function preferencesJourneys(site: Site) {
  const { signIn } = site

  test('a compact page has more messages in the same height, and others see the chosen presence', async () => {
    const jan = await signIn('jan', '/', { withoutWorker: true })
    await createChannel(jan, 'cabin')
    for (const text of ['up', 'down']) await say(jan, 'cabin', text)
    // Only a message that the server has is a link.
    await article(jan, 'down').getByRole('link').waitFor({ state: 'attached' })
    const height = () => article(jan, 'down').evaluate((row) => row.clientHeight)
    const comfortable = await height()
    const choose = async (view: string, field: string, option: string) => {
      await jan.getByRole('button', { name: 'Account' }).click()
      await jan.getByRole('menuitem', { name: view }).click()
      await jan.getByRole('combobox', { name: field }).selectOption(option)
    }
    await choose('Preferences', 'Density', 'Compact')
    await openChannel(jan, 'cabin')
    await expect.poll(height).toBeLessThan(comfortable)
    await jan.reload()
    await channels(jan).getByRole('link', { name: 'cabin' }).waitFor()
    await expect.poll(height).toBeLessThan(comfortable)

    const kit = await Person.signIn(site.baseUrl, 'kit@example.com')
    const [{ id }] = (await kit.get('/users?q=jan@')).body.users
    const presence = async () => (await kit.get(`/presence?ids=${id}`)).body.presence[0]?.status
    await choose('Profile', 'Status', 'Away')
    await expect.poll(presence).toBe('away')
    const status = jan.getByRole('combobox', { name: 'Status' })
    await jan.route('**/presence/me', (route) => route.fulfill({ status: 403, json: { error: 'Not now' } }))
    await status.selectOption('Online')
    await jan.getByRole('alert').filter({ hasText: 'Not now' }).waitFor()
    await expect.poll(() => status.inputValue()).toBe('away')
  })
}
