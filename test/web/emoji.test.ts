import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article, composer, createChannel } from './visitors.ts'

/** Emoji in texts, in the text box and as reactions. */
describeSite('emoji in the web client', {}, (site) => {
  const { signIn } = site

  test('a short name with a skin tone becomes one emoji, in texts and in the posts of programs', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const channel = await admin.creates({ name: 'signal flags' })
    const page = await signIn('ola', `/c/${channel.id}`)
    await admin.says('go on :thumbsup::skin-tone-3: *:handshake::skin-tone-2-6:* stop :nothing::skin-tone-3:', channel)
    const message = article(page, 'go on')
    await message.getByText('👍🏼').waitFor()
    expect(await message.locator('.text').textContent()).toBe('go on 👍🏼 🫱🏻‍🫲🏿 stop :nothing::skin-tone-3:')

    const { url } = (await admin.post('/webhooks', { name: 'lookout', channelId: channel.id })).body.webhook
    const text = { type: 'plain_text', text: 'land :wave::skin-tone-5:' }
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ blocks: [{ type: 'section', text }] }),
    })
    await article(page, 'land').getByText('land 👋🏾', { exact: true }).waitFor()
  })

  test('the text box offers the skin tones of an emoji after its name', async () => {
    const page = await signIn('pia')
    await createChannel(page, 'yardarm')
    const box = composer(page, 'yardarm')
    await box.pressSequentially('well done :thumbsup::')
    const options = page.getByRole('option')
    await expect.poll(() => options.count()).toBe(5)
    await box.pressSequentially('skin-tone-4')
    await expect.poll(() => options.allTextContents()).toEqual(['👍🏽:thumbsup::skin-tone-4:'])
    await box.press('Enter')
    expect(await box.inputValue()).toBe('well done 👍🏽 ')
  })
})
