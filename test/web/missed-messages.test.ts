import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mailbox, openMailbox } from '../src/mailbox.ts'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article, isAccessible } from './visitors.ts'

let mailbox: Mailbox
beforeAll(async () => {
  mailbox = await openMailbox()
})
afterAll(() => mailbox?.close())

const launched = () => ({
  env: {
    PARLEY_EMAIL_HOST: '127.0.0.1',
    PARLEY_EMAIL_PORT: String(mailbox.port),
    PARLEY_EMAIL_MISSED_MESSAGES_AFTER_SECONDS: '2',
  },
})

describeSite('the web client where people get mails about missed messages', { launched }, (site) => {
  const { signIn } = site

  test('a mail leads to the message, and the preferences switch such mails off and on', async () => {
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map((name) => Person.signIn(site.baseUrl, `${name}@example.com`)),
    )
    const channel = await ann!.creates({ name: 'plans', members: [bob!.id] })
    await ann!.says('a plan for @bob', channel)
    const { link } = await mailbox.nextTo('bob@example.com')

    const page = await signIn('bob', link.pathname)
    await article(page, 'a plan for @bob').waitFor()
    await page.goto(`${site.baseUrl}/preferences`)
    const choice = page.getByRole('checkbox', { name: 'Mails about missed messages' })
    expect(await choice.isChecked()).toBe(true)
    await isAccessible(page)
    await choice.click()
    const settings = async () => (await bob!.get('/users/me/notifications')).body
    await expect.poll(settings).toMatchObject({ mailsMissedMessages: false })
    await page.reload()
    await expect.poll(() => choice.isChecked()).toBe(false)
    await choice.press('Space')
    await expect.poll(settings).toMatchObject({ mailsMissedMessages: true })
    expect(await choice.isChecked()).toBe(true)
  })
})
