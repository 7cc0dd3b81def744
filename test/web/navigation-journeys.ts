import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, channelIdOf, channels, composer, createChannel, openChannel } from './visitors.ts'

/** Going to channels, threads, messages and results. */
export function navigationJourneys(site: Site) {
  const { signIn } = site

  test('a start without an address opens the channel that was open last', async () => {
    const zora = await Person.signIn(site.baseUrl, 'zora@example.com')
    const { id } = await zora.creates({ name: 'zeppelins' })
    const page = await signIn('zora')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await openChannel(page, 'zeppelins')
    // The code that stores it is loaded after the first view.
    await expect.poll(() => page.evaluate(() => Object.values(localStorage))).toContain(id)
    await page.goto(site.baseUrl)
    await page.getByRole('heading', { level: 1, name: 'zeppelins' }).waitFor()
    expect(channelIdOf(page)).toBe(id)
  })

  test('the link to a thread shows the initial of the signed-in person among those who replied', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'sail loft' })
    const parent = await eve.says('who mends the jib?', channel)
    const zoe = await Person.signIn(site.baseUrl, 'zoe@example.com')
    await zoe.post(`/messages/${parent.id}/thread`, { content: 'I do' })
    const page = await signIn('zoe', `/c/${channel.id}`)
    const replies = article(page, 'who mends the jib?').getByRole('link', { name: /1 reply/ })
    await expect.poll(() => replies.locator('.avatar').textContent()).toBe('Z')
  })

  test('a channel that is opened again has rendered rows above the viewport', async () => {
    const uma = await signIn('uma')
    await createChannel(uma, 'bilge')
    await createChannel(uma, 'hold')
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channelId = channelIdOf(uma)
    await eve.post(`/channels/${channelId}/join`)
    for (let n = 1; n <= 60; n++) await eve.says(`barrel no. ${n}`, { id: channelId })
    await article(uma, 'barrel no. 60').waitFor()
    const above = () =>
      uma.evaluate(() => {
        const { top } = document.querySelector('.feed-scroller')!.getBoundingClientRect()
        return [...document.querySelectorAll('article')].filter((row) => row.getBoundingClientRect().bottom < top)
          .length
      })
    await expect.poll(above).toBeGreaterThan(1)
    await openChannel(uma, 'bilge')
    await openChannel(uma, 'hold')
    await article(uma, 'barrel no. 60').waitFor()
    await expect.poll(above).toBeGreaterThan(1)
  })

  test('the ten threads that were closed last are kept, and others are fetched again', async () => {
    const vera = await signIn('vera', '/', { withoutWorker: true })
    await createChannel(vera, 'rope locker')
    const channelId = channelIdOf(vera)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${channelId}/join`)
    const parents = Array.from({ length: 11 }, (_, n) => `knot ${n + 1}.`)
    for (const content of parents) {
      const { id } = await eve.says(content, { id: channelId })
      await eve.post(`/messages/${id}/thread`, { content: `about ${content}` })
    }
    // Before the last reply has come, the list moves, and a click may hit another message.
    await article(vera, parents.at(-1)!)
      .getByRole('link', { name: /1 reply/ })
      .waitFor()
    const asked: string[] = []
    // A request with the limit 1 asks whether the person follows a thread.
    vera.on('request', (request) => /\/thread\?(?!.*limit=1$)/.test(request.url()) && asked.push(request.url()))
    const thread = vera.getByRole('complementary', { name: 'Thread' })
    const open = async (content: string) => {
      await article(vera, content)
        .getByRole('link', { name: /1 reply/ })
        .click()
      await thread
        .getByRole('article')
        .filter({ hasText: `about ${content}` })
        .waitFor()
    }
    for (const content of parents) await open(content)
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    asked.length = 0
    await open(parents[1]!)
    expect(asked).toEqual([])
    await open(parents[0]!)
    expect(asked).toHaveLength(1)
  })

  test('after "back" the results of a search and their position are the same, and a reaction in them can be removed', async () => {
    const wim = await signIn('wim')
    await createChannel(wim, 'chart room')
    const otto = await Person.signIn(site.baseUrl, 'otto@example.com')
    await otto.put('/users/me', { userName: 'Otto Seaworthy' })
    const id = channelIdOf(wim)
    await otto.post(`/channels/${id}/join`)
    for (let n = 1; n <= 35; n++) await otto.says(`sounding ${n}.`, { id })
    const field = wim.getByRole('searchbox', { name: 'Search', exact: true })
    await field.fill('sounding From:seaworthy In:"Chart Room"')
    await field.press('Enter')
    const results = wim.getByRole('region', { name: 'Search results' })
    const found = (text: string) => results.getByRole('article').filter({ hasText: text })
    await found('sounding 35.').waitFor()
    await wim.getByRole('button', { name: 'Show more' }).click()
    await found('sounding 1.').getByRole('link').click()
    await wim.getByRole('heading', { level: 1, name: 'chart room' }).waitFor()
    await wim.goBack()
    await found('sounding 1.').waitFor()
    const isInView = (element: Element) => element.getBoundingClientRect().top < innerHeight
    expect(await found('sounding 1.').evaluate(isInView)).toBe(true)

    const { messages } = (await otto.get('/search/messages?q=sounding 35.')).body
    await otto.post(`/messages/${messages[0].id}/reactions`, { reaction: '⚓' })
    await field.fill('sounding 35.')
    await field.press('Enter')
    await found('sounding 35.').getByRole('button', { name: '⚓ 1' }).click()
    await found('sounding 35.').getByRole('button', { name: '⚓ 2', pressed: true }).click()
    await found('sounding 35.').getByRole('button', { name: '⚓ 1', pressed: false }).waitFor()
  })

  test('known channels and people are found without the accents of their names', async () => {
    const jose = await Person.signIn(site.baseUrl, 'jose@example.com')
    await jose.put('/users/me', { userName: 'José Müller' })
    const cafe = await jose.creates({ name: 'Café Größe' })
    await jose.says('bonjour', cafe)
    const ulla = await Person.signIn(site.baseUrl, 'ulla@example.com')
    await ulla.post(`/channels/${cafe.id}/join`)
    await ulla.post('/conversations', { targetUserId: jose.id })
    const page = await signIn('ulla', `/c/${cafe.id}`, { withoutWorker: true })
    await page.getByRole('link', { name: /^José Müller/ }).waitFor()
    await article(page, 'bonjour').getByRole('button', { name: 'José Müller' }).click()
    await page.getByRole('dialog', { name: 'José Müller' }).getByText('jose@example.com').waitFor()
    await page.keyboard.press('Escape')
    // Without the server's responses, only known channels and people are found.
    await page.route(/\/(users|channels)\?.*\bq=/, (route) => route.abort())
    await page.keyboard.press('Control+k')
    const switcher = page.getByRole('combobox', { name: 'Channel or person' })
    await switcher.fill('#cafe gross')
    await page.getByRole('option', { name: 'Café Größe' }).waitFor()
    await switcher.fill('muller')
    await page.getByRole('option', { name: 'José Müller' }).waitFor()
    await page.keyboard.press('Escape')

    const box = composer(page, 'Café Größe')
    await box.pressSequentially('@jose')
    await page.getByRole('option', { name: '@José Müller' }).waitFor()
    await box.press('Enter')
    await box.pressSequentially('#grosse')
    await page.getByRole('option', { name: '#Café Größe' }).waitFor()
    await box.press('Enter')
    expect(await box.inputValue()).toBe('@José Müller #Café Größe ')
  })

  test('a search finds a phrase in quotation marks, and its filters ignore accents', async () => {
    const noe = await Person.signIn(site.baseUrl, 'noe.a@example.com')
    await noe.put('/users/me', { userName: 'Noé' })
    await (await Person.signIn(site.baseUrl, 'noe.b@example.com')).put('/users/me', { userName: 'Noe Bell' })
    const bureau = await noe.creates({ name: 'Büro' })
    await noe.says('the lantern is lit', bureau)
    await noe.says('the lantern is out', bureau)
    const page = await signIn('abe')
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const results = page.getByRole('region', { name: 'Search results' })
    await field.fill('"lantern is lit"')
    await field.press('Enter')
    await results.getByRole('article').filter({ hasText: 'the lantern is lit' }).waitFor()
    await field.fill('“lantern is out” from:noe in:buro')
    await field.press('Enter')
    await results.getByRole('article').filter({ hasText: 'the lantern is out' }).waitFor()
    await page.getByRole('status').getByText('Shown results: 1').waitFor()
  })

  test('the address of a conversation has its id as the API has it', async () => {
    const quin = await Person.signIn(site.baseUrl, 'quin@example.com')
    const page = await signIn('orla')
    await page.getByRole('button', { name: 'New direct message' }).click()
    const people = page.getByRole('dialog', { name: 'New direct message' })
    await people.getByRole('combobox').fill(quin.userName)
    await people.getByRole('option', { name: quin.userName }).click()
    await page.getByRole('heading', { level: 1, name: quin.userName }).waitFor()
    const [conversation] = (await quin.get('/conversations')).body.conversations
    expect(page.url()).toBe(`${site.baseUrl}/c/${conversation.id}`)
  })

  test('a pinned message leads to its place, and a sent reply is shown after a link to an old one', async () => {
    const zoe = await signIn('zoe')
    await createChannel(zoe, 'bridge deck')
    const id = channelIdOf(zoe)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const course = await eve.says('our course', { id })
    await eve.post(`/messages/${course.id}/pin`)
    await zoe.getByRole('button', { name: 'Pinned messages' }).click()
    const pins = zoe.getByRole('dialog', { name: 'Pinned messages' })
    await pins.getByRole('article').getByRole('link').click()
    await pins.waitFor({ state: 'detached' })
    const isFocused = () => article(zoe, 'our course').evaluate((element) => element === document.activeElement)
    await expect.poll(isFocused).toBe(true)

    const replies: { id: string }[] = []
    for (let n = 1; n <= 60; n++) {
      const { body } = await eve.post(`/messages/${course.id}/thread`, { content: `degree ${n}.` })
      replies.push(body.reply)
    }
    await zoe.goto(`${site.baseUrl}/c/${id}/t/${course.id}/m/${replies[0]!.id}`)
    const thread = zoe.getByRole('complementary', { name: 'Thread' })
    const reply = (text: string) => thread.getByRole('article').filter({ hasText: text })
    await reply('degree 1.').waitFor()
    await thread.getByRole('textbox', { name: 'Reply' }).fill('aye')
    await thread.getByRole('textbox', { name: 'Reply' }).press('Enter')
    await reply('aye').getByRole('link').waitFor()
  })

  test('the sidebar scrolls to the channel that was opened', async () => {
    const many = await Person.signIn(site.baseUrl, 'many@example.com')
    for (let n = 10; n < 60; n++) await many.creates({ name: `many ${n}` })
    const page = await signIn('many')
    const link = (name: string) => channels(page).getByRole('link', { name })
    // The last row is rendered when the browser is idle.
    await link('many 59').waitFor({ state: 'attached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Channel or person' }).fill('many 58')
    await page.keyboard.press('Enter')
    const isInView = async (name: string) => {
      const [row, list] = await Promise.all([link(name).boundingBox(), page.locator('.sidebar').boundingBox()])
      return row!.y >= list!.y && row!.y + row!.height <= list!.y + list!.height
    }
    await expect.poll(() => isInView('many 58')).toBe(true)
    await page.keyboard.press('Alt+ArrowDown')
    await expect.poll(() => isInView('many 59')).toBe(true)
  })
}
