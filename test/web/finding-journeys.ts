import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { createChannel, say } from './visitors.ts'

/** Searches, lists of several pages, and the choices that each person makes for themselves. */
export function findingJourneys(site: Site) {
  const { signIn } = site

  test('a search is narrowed to days in the time zone of the person, by operators and by the form, and filters are removed', async () => {
    // In one of these time zones it is not the same day as in UTC.
    const timezoneId = new Date().getUTCHours() < 12 ? 'Etc/GMT+12' : 'Etc/GMT-14'
    const hal = await signIn('hal.north', '/', { timezoneId })
    await createChannel(hal, 'horizon')
    await say(hal, 'horizon', 'sextant')
    const { messages } = (
      await (await Person.signIn(site.baseUrl, 'hal.north@example.com')).get('/search/messages?q=sextant')
    ).body
    // The format of this language is that of the operators.
    const dayIn = (timeZone: string) => new Intl.DateTimeFormat('sv', { timeZone }).format(messages[0].createdAt)
    const [today, utc] = [dayIn(timezoneId), dayIn('UTC')]
    const field = hal.getByRole('searchbox', { name: 'Search', exact: true })
    const results = hal.getByRole('region', { name: 'Search results' })
    const finds = results.getByRole('article').filter({ hasText: 'sextant' })
    const nothing = results.getByText('Nothing was found')
    const chip = (filter: string) => hal.getByRole('button', { name: `Remove ${filter}` })
    for (const [query, outcome] of [
      [`sextant on:${today}`, finds],
      [`sextant on:${utc}`, nothing],
      [`sextant after:${today}`, nothing],
      [`sextant before:${today}`, nothing],
      [`sextant after:2020-01-01 before:2099-12-31`, finds],
      [`sextant on:${today} after:2099-12-31`, nothing],
    ] as const) {
      await field.fill(query)
      await field.press('Enter')
      await hal.waitForURL(`**/search?q=${encodeURIComponent(query)}`)
      await outcome.waitFor()
    }
    // These are not days, so they are a part of the text.
    for (const wrong of ['on:2026-02-31', 'on:2026-13-05', 'on:today', 'on:']) {
      await field.fill(`sextant ${wrong}`)
      await field.press('Enter')
      await hal.waitForURL(`**/search?q=${encodeURIComponent(`sextant ${wrong}`)}`)
      await nothing.waitFor()
      expect(await chip('on:').count()).toBe(0)
    }

    await field.fill(`sextant after:2099-12-31`)
    await field.press('Enter')
    await nothing.waitFor()
    const form = hal.getByRole('form', { name: 'Filters' })
    expect(await form.getByLabel('After').inputValue()).toBe('2099-12-31')
    await form.getByLabel('From').fill('  ')
    await form.getByLabel('In', { exact: true }).fill('#horizon')
    await form.getByLabel('Before').fill('2099-12-31')
    await form.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => field.inputValue()).toBe('sextant in:#horizon after:2099-12-31 before:2099-12-31')
    await nothing.waitFor()
    await chip('after:2099-12-31').click()
    await finds.waitFor()
    expect(await field.inputValue()).toBe('sextant in:horizon before:2099-12-31')
    await form.getByLabel('From').fill('nobody "at all"')
    await form.getByRole('button', { name: 'Filter' }).click()
    await hal.getByRole('alert').filter({ hasText: 'Nobody is called nobody  at all' }).waitFor()
  })
}
