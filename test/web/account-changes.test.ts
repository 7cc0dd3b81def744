import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { act, article, composer, createChannel, openChannel, say } from './visitors.ts'

describeSite('the web client while an account or a session changes', { timeout: 120_000 }, (site) => {
  const signInForm = (page: Page) => page.getByRole('button', { name: 'Sign in' })
  const signInAs = async (page: Page, name: string) => {
    await page.getByLabel('Email').fill(`${name}@example.com`)
    await signInForm(page).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
  }
  const endElsewhere = async (name: string) => {
    const elsewhere = await Person.signIn(site.baseUrl, `${name}@example.com`)
    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
  }
  const editor = (page: Page) => page.getByRole('textbox', { name: 'Edit message' })

  test('an edit that is not saved opens again after another sign-in, but not for somebody else, and a sign-out forgets it', async () => {
    const page = await site.signIn('agda')
    await createChannel(page, 'bakery')
    await say(page, 'bakery', 'the bread is ready')
    await act(page, 'the bread is ready', 'Edit')
    await editor(page).fill('the bread is ready at noon')
    await endElsewhere('agda')
    await signInForm(page).waitFor()
    await signInAs(page, 'bela')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(await editor(page).count()).toBe(0)
    await endElsewhere('bela')
    await signInForm(page).waitFor()
    await signInAs(page, 'agda')
    await openChannel(page, 'bakery')
    await expect.poll(() => editor(page).inputValue()).toBe('the bread is ready at noon')
    await expect.poll(() => composer(page, 'bakery').evaluate((box) => box === document.activeElement)).toBe(true)

    await page.reload()
    await expect.poll(() => editor(page).inputValue()).toBe('the bread is ready at noon')
    await expect.poll(() => composer(page, 'bakery').evaluate((box) => box === document.activeElement)).toBe(true)
    await editor(page).press('Enter')
    await article(page, 'the bread is ready at noon').getByText('edited').waitFor()
    await page.reload()
    await article(page, 'the bread is ready at noon').waitFor()
    expect(await editor(page).count()).toBe(0)

    await act(page, 'the bread is ready', 'Edit')
    await editor(page).fill('the bread is gone')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await signInForm(page).waitFor()
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('the bread is gone')
  })
})
