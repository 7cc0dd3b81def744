import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { act, article, channelIdOf, composer, createChannel, say, showIn } from './visitors.ts'

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

  test('a page in German finds emoji by German words, and by their short names', async () => {
    const page = await signIn('gerd')
    await createChannel(page, 'kombuese')
    await showIn(page, 'de')
    await page.getByRole('button', { name: 'Emoji', exact: true }).click()
    const search = page.getByRole('searchbox', { name: 'Emoji suchen' })
    await search.fill('Segelboot')
    await page.getByRole('dialog').getByRole('button', { name: 'Segelboot', exact: true }).waitFor()
    await search.fill('anchor')
    await page.getByRole('dialog').getByRole('button', { name: 'Anker', exact: true }).waitFor()
  })

  test('an emoji is one reaction with and without the character that asks for a coloured picture', async () => {
    const page = await signIn('rob')
    await createChannel(page, 'crosstrees')
    const channelId = channelIdOf(page)
    const [ann, eve] = await Promise.all(
      ['ann', 'eve'].map((name) => Person.signIn(site.baseUrl, `${name}@example.com`)),
    )
    for (const person of [ann!, eve!]) await person.post(`/channels/${channelId}/join`)
    const { id } = await ann!.says('sail ho', { id: channelId })
    const add = (person: Person, reaction: string) => person.post(`/messages/${id}/reactions`, { reaction })
    const stored = async () => (await ann!.get(`/messages/${id}`)).body.message.reactions as Record<string, string[]>
    await add(ann!, '❤')
    await add(eve!, '❤\ufe0f')
    await add(eve!, '👍')
    const message = article(page, 'sail ho')
    const heart = (count: number, pressed: boolean) =>
      message.getByRole('button', { name: `❤\ufe0f ${count}`, exact: true, pressed })

    await heart(2, false).click()
    await heart(3, true).waitFor()
    const names = async () => Object.keys(await stored()).toSorted()
    await expect.poll(async () => (await stored())['❤']!.length).toBe(2)
    expect(await names()).toEqual(['❤', '❤\ufe0f', '👍'].toSorted())
    await heart(3, true).click()
    await heart(2, false).waitFor()
    await expect.poll(stored).toEqual({ '❤': [ann!.id], '❤\ufe0f': [eve!.id], '👍': [eve!.id] })

    await message.hover()
    await message.getByRole('button', { name: 'Respond with joy' }).waitFor()
    expect(await message.getByRole('button', { name: /^Respond with (\+1|heart)$/ }).count()).toBe(0)
    await act(page, 'sail ho', 'React')
    await page.getByRole('searchbox', { name: 'Search emoji' }).fill('thumbsup')
    await page.keyboard.press('Enter')
    await message.getByRole('button', { name: '👍 2', exact: true, pressed: true }).waitFor()
    await expect.poll(async () => (await stored())['👍']!.length).toBe(2)
    expect(await names()).not.toContain('👍\ufe0f')
  })

  test('a click removes the reaction in all spellings that the person has', async () => {
    const page = await signIn('sam')
    await createChannel(page, 'bilge')
    const channelId = channelIdOf(page)
    await say(page, 'bilge', 'pump')
    await article(page, 'pump').getByRole('link').waitFor({ state: 'attached' })
    const sam = await Person.signIn(site.baseUrl, 'sam@example.com')
    const { messages } = (await sam.get(`/channels/${channelId}/messages`)).body
    for (const reaction of ['⚓', '⚓\ufe0f']) await sam.post(`/messages/${messages[0].id}/reactions`, { reaction })
    const anchor = article(page, 'pump').getByRole('button', { name: /^⚓/ })
    await expect.poll(() => anchor.allTextContents()).toEqual(['⚓\ufe0f 1'])
    await anchor.click()
    await anchor.waitFor({ state: 'detached' })
    await expect.poll(async () => (await sam.get(`/messages/${messages[0].id}`)).body.message.reactions).toEqual({})
  })

  test('a message of nothing but emoji is larger than text', async () => {
    const wim = await signIn('wim')
    await createChannel(wim, 'pennant')
    const sizeOf = async (text: string, visible = text) => {
      await say(wim, 'pennant', text, visible)
      const message = article(wim, visible)
      await message.getByRole('link').waitFor({ state: 'attached' })
      const shown = message.locator('.text')
      return Number.parseFloat(await shown.evaluate((element) => getComputedStyle(element).fontSize))
    }
    const usual = await sizeOf('a fair wind ⛵')
    const isLarge = expect.toSatisfy((size: number) => size > 1.5 * usual)
    for (const emoji of ['🎉', '👩‍👩‍👧 👍🏽 ❤️', '🇳🇴', '®️', '4️⃣', '⛹🏽‍♂️ 👁️‍🗨️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿'])
      expect([emoji, await sizeOf(emoji)]).toEqual([emoji, isLarge])
    expect(await sizeOf(':confetti_ball: :rowboat::skin-tone-4:', '🎊 🚣🏽')).toEqual(isLarge)
    // Characters that are text unless the writer asks for a picture.
    const texts = ['4711', '☕ at four', '©', '™', ':no_such_emoji:', '```🧨```', '*🪁*']
    for (const text of texts) expect([text, await sizeOf(text, text.replaceAll(/[`*]/g, ''))]).toEqual([text, usual])
  })

  test('emoji that the browser cannot draw are not offered', async () => {
    const sven = await signIn('sven', '/', { withoutWorker: true })
    await sven.addInitScript(() => {
      const { fillText } = CanvasRenderingContext2D.prototype
      // The font of this browser draws a grey box for one of the two, and a picture for the other.
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most) {
        const colour = { '\u{1fac6}': '#888', '\u{1fabe}': '#8a4' }[text]
        if (colour === undefined) return fillText.call(this, text, x, y, most)
        this.fillStyle = colour
        this.fillRect(0, 0, 8, 8)
      }
    })
    await sven.reload()
    await createChannel(sven, 'figurehead')
    // The fonts of the page are added after the first view. This machine may have no other emoji.
    const hasFonts = () =>
      sven.evaluate(() => [...document.fonts].some(({ family }) => family.includes('Parley Emoji')))
    await expect.poll(hasFonts).toBe(true)
    await sven.getByRole('button', { name: 'Emoji', exact: true }).click()
    const picker = sven.getByRole('dialog', { name: 'Emoji' })
    const search = picker.getByRole('searchbox', { name: 'Search emoji' })
    await search.fill('leafless')
    await picker.getByRole('button', { name: /leafless/ }).waitFor()
    await search.fill('fingerprint')
    await picker.getByText('Nothing was found').waitFor()
  })
})
