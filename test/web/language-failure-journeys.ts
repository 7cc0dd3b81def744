import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { createFailing, unavailable } from './failing.ts'
import type { Site } from './site.ts'
import { article } from './visitors.ts'

/** The language of the page when its texts cannot be loaded or come late, and refusals in the language of the person. */
export function languageFailureJourneys(site: Site) {
  const { openPage, signIn } = site
  const { openUnaided, signInUnaided, meet } = createFailing(site)

  async function signInInGerman(name: string) {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.goto(site.baseUrl)
    await page.getByLabel('E-Mail').fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await page.getByRole('button', { name: 'Konto' }).waitFor()
    return page
  }

  test('a language that was never loaded before can be chosen without a network', async () => {
    const page = await signIn('ann')
    await page.evaluate('navigator.serviceWorker.ready')
    await page.evaluate(`localStorage.setItem('parley.preferences', '{"language":"de"}')`)
    await page.context().setOffline(true)
    await page.reload()
    await page.getByRole('navigation', { name: 'Kanäle' }).waitFor()
  })

  test('the language that was chosen last stays, even when the texts of the previous one come later', async () => {
    const page = await signInUnaided('ann')
    await page.goto(`${site.baseUrl}/preferences`)
    const held = Promise.withResolvers<Route>()
    await page.route('**/assets/de-*.js', held.resolve)
    const choice = page.getByRole('combobox', { name: 'Language' })
    await choice.selectOption('Deutsch')
    const route = await held.promise
    await choice.selectOption('English')
    await route.continue()
    // Waits until the page has the German texts.
    await page.evaluate(`import('${route.request().url()}').then(() => new Promise((resolve) => setTimeout(resolve)))`)
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
  })

  test('the page is in English when its language cannot be loaded', async () => {
    const page = await openUnaided({ locale: 'de-DE' })
    await page.route('**/assets/de-*.js', unavailable)
    await page.goto(site.baseUrl)
    await page.getByLabel('Email').waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
  })

  test('what the server refuses is shown in the language of the person', async () => {
    const { channel } = await meet()
    const page = await signInInGerman('dirk')

    await page.getByRole('button', { name: 'Kanal erstellen' }).click()
    const dialog = page.getByRole('dialog', { name: 'Kanal erstellen' })
    await dialog.getByLabel('Name').fill(channel.name)
    await dialog.getByRole('button', { name: 'Erstellen' }).click()
    const refusal = page.getByRole('alert')
    await expect.poll(() => refusal.textContent()).toBe('Es gibt schon einen Kanal mit diesem Namen')

    await page.goto(`${site.baseUrl}/profile`)
    await page.getByRole('textbox', { name: 'Name' }).fill('here')
    await page.getByRole('button', { name: 'Speichern' }).click()
    await expect.poll(() => refusal.textContent()).toBe('Der Name darf nicht here sein, weil @here alle erwähnt')

    const limit = 'content is longer than 16000 characters'
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    await page.route('**/messages', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 400, json: { error: limit } }) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Beitreten' }).click()
    const box = page.getByRole('textbox', { name: `Nachricht an ${channel.name}` })
    await box.pressSequentially('/top')
    await page.getByRole('option').filter({ hasText: 'Das Thema des Kanals setzen' }).waitFor()
    await box.fill('/status krank')
    await box.press('Enter')
    const answer = 'Bitte schreibe /status online, /status away oder /status clear'
    await page.getByRole('region', { name: 'Nur für dich sichtbar' }).getByText(answer).waitFor()
    await expect.poll(() => page.locator('[aria-live=polite]').textContent()).toContain(answer)
    await box.fill('ein sehr langer Text')
    await box.press('Enter')
    await article(page, 'ein sehr langer Text').getByText('Die Nachricht hat mehr als 16.000 Zeichen').waitFor()
  })

  test('a sign-in that a provider has refused is explained in the language of the person', async () => {
    const refusal = 'The provider did not let you sign in.'
    const page = await openPage(`/?oauth_error=${encodeURIComponent(refusal)}`, { locale: 'de-DE' })
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toBe('Der Anbieter hat deine Anmeldung nicht erlaubt.')
  })

  test('the sign-in shows no text that somebody has put into the address', async () => {
    const page = await openPage(`/?oauth_error=${encodeURIComponent('Please call 555 0100')}`)
    await expect.poll(() => page.getByRole('alert').textContent()).toBe('The sign-in failed. Please try again.')
  })
}
