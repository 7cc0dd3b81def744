import { test } from 'vitest'
import { describeSite } from './site.ts'
import { isAccessible, openChannel } from './visitors.ts'

describeSite('the first start of a server', {}, (site) => {
  test('an empty channel leads the only person to the page that adds people, and a conversation says whom it is with', async () => {
    const page = await site.signIn('admin')
    const invite = page.getByRole('link', { name: 'Add people' })
    await invite.waitFor()
    await isAccessible(page)
    await invite.click()
    await page.getByRole('button', { name: 'Add person' }).click()
    const adding = page.getByRole('dialog', { name: 'Add person' })
    await adding.getByLabel('Email').fill('ruth@example.com')
    await adding.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('row', { name: /ruth@example\.com/ }).waitFor()

    await openChannel(page, 'General')
    await page.getByText('No messages yet').waitFor()
    await invite.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'New direct message' }).click()
    const people = page.getByRole('dialog', { name: 'New direct message' })
    await people.getByRole('combobox').fill('ruth')
    await people.getByRole('option', { name: /ruth/ }).click()
    await page.getByText('This is the beginning of your conversation with ruth.').waitFor()
  })
})
