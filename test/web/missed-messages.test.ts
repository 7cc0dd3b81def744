import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
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

  test('a mail is as wide as the screen of a phone, and each message has the direction of its language', async () => {
    const [ann, eva] = await Promise.all(
      ['ann', 'eva'].map((name) => Person.signIn(site.baseUrl, `${name}@example.com`)),
    )
    const { body } = await ann!.post('/conversations', { targetUserId: eva!.id })
    const word = 'x'.repeat(200)
    for (const content of [
      `${word} \`\`${word}\`\` [text](https://example.com/${word})`,
      `\`\`\`\n${word}\n\`\`\``,
      'שלום',
    ]) {
      expect((await ann!.post(`/conversations/${body.conversation.id}/messages`, { content })).status).toBe(200)
    }
    const context = await site.browser.newContext({ viewport: { width: 360, height: 800 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const shown: string[] = []
    while (!shown.at(-1)?.includes('שלום')) {
      const { source } = await mailbox.nextTo('eva@example.com')
      const text = Buffer.from(source, 'latin1').toString()
      const html = text.slice(text.indexOf('<!doctype'))
      await page.setContent(html)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
      shown.push(html)
    }
    expect(shown.join()).toContain('<pre')
    const hebrew = page.getByText('שלום')
    expect(await hebrew.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
  })
})
