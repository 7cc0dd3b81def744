import type { Locator, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png, whitePng } from './pictures.ts'
import type { Site } from './site.ts'
import { act, article, channels, composer, createChannel, isAccessible, openChannel, say } from './visitors.ts'

/** The things that people do many times a day, besides writing and reading. */
export function everydayJourneys(site: Site) {
  const { signIn } = site

  const hasFocus = (element: Locator) =>
    expect.poll(() => element.evaluate((each) => each === document.activeElement)).toBe(true)

  test('emoji are chosen by category, arrow keys, skin tone, from the recent ones and with one click', async () => {
    const lea = await signIn('lea')
    await createChannel(lea, 'pantry')
    await say(lea, 'pantry', 'soup is ready')
    await act(lea, 'soup is ready', 'React')
    const picker = lea.getByRole('dialog', { name: 'React' })
    // It is beside its button. Offsets do not depend on the animation.
    const tool = article(lea, 'soup is ready').getByRole('button', { name: 'React', includeHidden: true })
    const button = (await tool.boundingBox())!
    const [top, right] = await picker.evaluate(({ offsetTop, offsetLeft, offsetWidth }: HTMLElement) => [
      offsetTop,
      offsetLeft + offsetWidth,
    ])
    expect(right).toBeCloseTo(button.x + button.width, 0)
    const bottom = await picker.evaluate(({ offsetTop, offsetHeight }: HTMLElement) => offsetTop + offsetHeight)
    expect(Math.min(Math.abs(bottom - button.y), Math.abs(top! - button.y - button.height))).toBeLessThan(6)
    const region = (name: string) => picker.getByRole('region', { name })
    await region('Smileys and emotion').waitFor()
    expect(await region('Recently used').count()).toBe(0)
    // What looks for a searchbox or a combobox finds one field.
    await picker.getByRole('searchbox').or(picker.getByRole('combobox')).fill('')
    await isAccessible(lea)

    await picker
      .getByRole('radiogroup', { name: 'Skin tone' })
      .getByRole('radio', { name: 'Medium', exact: true })
      .check()
    await picker.getByRole('button', { name: 'People and body', exact: true }).click()
    await region('People and body').getByRole('button', { name: 'wave', exact: true }).click()
    await article(lea, 'soup is ready').getByRole('button', { name: '👋🏽 1' }).waitFor()

    await act(lea, 'soup is ready', 'React')
    await region('Recently used').getByRole('button', { name: 'wave', exact: true }).waitFor()
    await lea.keyboard.press('ArrowDown')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('wave')
    await lea.keyboard.press('ArrowDown')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('grinning')
    await lea.keyboard.press('ArrowRight')
    await expect.poll(() => lea.evaluate(() => document.activeElement?.ariaLabel)).toBe('smiley')
    await lea.keyboard.press('Enter')
    await article(lea, 'soup is ready').getByRole('button', { name: '😃 1' }).waitFor()

    await say(lea, 'pantry', 'bread as well')
    const bread = article(lea, 'bread as well')
    await bread.hover()
    await bread.getByRole('button', { name: 'Respond with wave' }).waitFor()
    await bread.getByRole('button', { name: 'Respond with +1' }).waitFor()
    await isAccessible(lea)
    const quick = bread.getByRole('button', { name: 'Respond with smiley' })
    await quick.click()
    await bread.getByRole('button', { name: '😃 1' }).waitFor()
    await quick.waitFor({ state: 'detached' })
  })

  test('a key of an input method sends nothing, saves nothing, and chooses nothing', async () => {
    const hana = await signIn('hana')
    await createChannel(hana, 'kanji')
    // The event of Safari: the composition has ended when the Enter that confirms its text comes.
    const confirming = { key: 'Enter', keyCode: 229 }
    const box = composer(hana, 'kanji')
    await box.fill('かな')
    await box.dispatchEvent('keydown', confirming)
    expect(await box.inputValue()).toBe('かな')
    await box.press('Enter')
    await act(hana, 'かな', 'Edit')
    const edited = hana.getByRole('textbox', { name: 'Edit message' })
    await edited.fill('仮名')
    await edited.dispatchEvent('keydown', confirming)
    expect(await edited.inputValue()).toBe('仮名')
    await edited.press('Enter')
    await article(hana, '仮名').waitFor()
    await hana.keyboard.press('Control+k')
    const switcher = hana.getByRole('dialog').getByRole('combobox')
    await hana.getByRole('option', { name: 'General' }).waitFor()
    await switcher.dispatchEvent('keydown', confirming)
    expect(await switcher.isVisible()).toBe(true)
    expect(await hana.getByRole('heading', { level: 1 }).textContent()).toContain('kanji')
  })

  test('the text box is as high as its text in a browser without field-sizing', async () => {
    const ivo = await signIn('ivo')
    await createChannel(ivo, 'letters')
    await ivo.addInitScript(() => {
      const { supports } = CSS
      CSS.supports = ((...asked: [string]) =>
        asked[0] !== 'field-sizing' && supports.call(CSS, ...asked)) as typeof supports
      const sheet = new CSSStyleSheet()
      sheet.replaceSync('textarea { field-sizing: fixed !important }')
      document.adoptedStyleSheets = [sheet]
    })
    await ivo.reload()
    const box = composer(ivo, 'letters')
    const height = () => box.evaluate(({ clientHeight }) => clientHeight)
    const oneLine = await height()
    await box.fill('one\ntwo\nthree')
    expect(await box.evaluate(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)).toBe(0)
    expect(await height()).toBeGreaterThan(oneLine + 20)
    await ivo.reload()
    await expect.poll(height).toBeGreaterThan(oneLine + 20)
    await box.press('Enter')
    expect(await height()).toBe(oneLine)
    await act(ivo, 'three', 'Edit')
    const edited = ivo.getByRole('textbox', { name: 'Edit message' })
    await edited.waitFor()
    expect(await edited.evaluate(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)).toBe(0)
  })

  test('removing a member of a channel sends only this change, not the list of all members', async () => {
    const may = await signIn('may', '/', { withoutWorker: true })
    await createChannel(may, 'closet')
    const [, channelId] = /\/c\/([^/]+)/.exec(may.url())!
    const guest = await Person.signIn(site.baseUrl, 'moth@example.com')
    await guest.post(`/channels/${channelId}/join`)
    await may.getByRole('button', { name: 'Channel settings' }).click()
    const remove = may.getByRole('button', { name: 'Remove moth' })
    const sent = may.waitForRequest((request) => request.method() === 'PUT' && request.url().endsWith(channelId!))
    await remove.click()
    expect((await sent).postDataJSON()).toEqual({ removeMembers: [guest.id] })
    await remove.waitFor({ state: 'detached' })
  })

  test('the name of an author opens their card, which has a button to write to them', async () => {
    const nell = await signIn('nell')
    await createChannel(nell, 'bridge')
    const ned = await Person.signIn(site.baseUrl, 'ned@example.com')
    const [, channelId] = /\/c\/([^/]+)/.exec(nell.url())!
    await ned.post(`/channels/${channelId}/join`)
    await ned.says('all clear', { id: channelId! })
    await article(nell, 'all clear').getByRole('button', { name: 'ned', exact: true }).click()
    const card = nell.getByRole('dialog', { name: 'ned' })
    await card.getByText('ned@example.com').waitFor()
    await isAccessible(nell)
    await card.getByRole('button', { name: 'Message ned' }).click()
    await nell.getByRole('heading', { level: 1, name: 'ned' }).waitFor()
    await card.waitFor({ state: 'detached' })
  })

  test('adding a member of a channel does not remove somebody who joined meanwhile', async () => {
    const ola = await signIn('ola', '/', { withoutWorker: true })
    await createChannel(ola, 'boom')
    const [, channelId] = /\/c\/([^/]+)/.exec(ola.url())!
    const [pia, rob] = [
      await Person.signIn(site.baseUrl, 'pia@example.com'),
      await Person.signIn(site.baseUrl, 'rob.mast@example.com'),
    ]
    await ola.getByRole('button', { name: 'Channel settings' }).click()
    // Somebody joins after the page has fetched the members, and before its change arrives.
    await ola.route(`**/channels/${channelId}`, async (route) => {
      if (route.request().method() === 'PUT') await pia.post(`/channels/${channelId}/join`)
      await route.continue()
    })
    const members = ola.getByRole('region', { name: 'Members' })
    await members.getByRole('button', { name: 'Add a member' }).click()
    await ola.getByRole('dialog', { name: 'Add a member' }).getByRole('combobox').fill('rob.mast')
    await ola.keyboard.press('Enter')
    await members.getByRole('button', { name: 'Remove rob.mast' }).waitFor()
    const { channel } = (await pia.get(`/channels/${channelId}`)).body
    expect(channel.members).toEqual(expect.arrayContaining([pia.id, rob.id]))
  })

  test('a channel with a draft is marked in the sidebar, and the icon of the tab shows unread mentions', async () => {
    const sam = await signIn('sam')
    await createChannel(sam, 'stern')
    await createChannel(sam, 'prow')
    await composer(sam, 'prow').fill('half a thought')
    await openChannel(sam, 'stern')
    await channels(sam).getByRole('link', { name: 'prow' }).getByText('Draft').waitFor()
    const icon = () => sam.locator('link[rel=icon]').getAttribute('href')
    expect(await icon()).toBe('/icons/192.png')

    const tom = await Person.signIn(site.baseUrl, 'tom@example.com')
    const { id } = (await tom.get('/users?q=sam@')).body.users[0]
    const { conversation } = (await tom.post('/conversations', { targetUserId: id })).body
    await tom.post(`/conversations/${conversation.id}/messages`, { content: 'Are you there?' })
    await expect.poll(icon, { timeout: 20_000 }).toMatch(/^blob:/)
    await sam.getByRole('link', { name: /^tom/ }).click()
    await expect.poll(icon, { timeout: 20_000 }).toBe('/icons/192.png')
  })

  test('on a phone, messages below an open thread or the open navigation are unread, and cannot be reached', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const keelson = await eve.creates({ name: 'keelson' })
    const parent = await eve.says('who has the lamp?', keelson)
    const finn = await Person.signIn(site.baseUrl, 'finn@example.com')
    await finn.post(`/channels/${keelson.id}/join`)
    const page = await signIn('finn', `/c/${keelson.id}/t/${parent.id}`, { viewport: { width: 390, height: 844 } })
    const thread = page.getByRole('complementary', { name: 'Thread' })
    // The list below the thread is loaded, although it cannot be seen.
    const below = page.locator('main').getByRole('article', { includeHidden: true })
    await below.filter({ hasText: 'who has the lamp?' }).waitFor({ state: 'attached' })
    const unread = async () => (await finn.get(`/channels/${keelson.id}`)).body.channel.unreadCount
    await eve.says('below the thread', keelson)
    await expect.poll(() => page.title()).toMatch(/^\(1\) #keelson/)
    expect(await unread()).toBe(1)
    expect(await page.getByRole('main').count()).toBe(0)
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    await article(page, 'below the thread').waitFor()
    await page.getByText('New messages').waitFor()
    await expect.poll(unread).toBe(0)

    const navigation = page.getByRole('button', { name: 'Navigation' })
    await navigation.click()
    await eve.says('below the navigation', keelson)
    await expect.poll(() => page.title()).toMatch(/^\(1\) #keelson/)
    expect(await unread()).toBe(1)
    await navigation.click()
    await article(page, 'below the navigation').waitFor()
    await expect.poll(unread).toBe(0)

    // The focus returns into the channel that the thread covered.
    await eve.post(`/messages/${parent.id}/thread`, { content: 'I have' })
    const replies = article(page, 'who has the lamp?').getByRole('link', { name: /^1 reply/ })
    await replies.press('Enter')
    await thread.getByRole('textbox', { name: 'Reply' }).press('Escape')
    await expect.poll(() => replies.evaluate((element) => element === document.activeElement)).toBe(true)
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
    const [, channelId] = /\/c\/([^/]+)/.exec(uma.url())!
    await eve.post(`/channels/${channelId}/join`)
    for (let n = 1; n <= 60; n++) await eve.says(`barrel no. ${n}`, { id: channelId! })
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
    const [, channelId] = /\/c\/([^/]+)/.exec(vera.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${channelId}/join`)
    const parents = Array.from({ length: 11 }, (_, n) => `knot ${n + 1}.`)
    for (const content of parents) {
      const { id } = await eve.says(content, { id: channelId! })
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
    const [, id] = /\/c\/([^/]+)/.exec(wim.url())!
    await otto.post(`/channels/${id}/join`)
    for (let n = 1; n <= 35; n++) await otto.says(`sounding ${n}.`, { id: id! })
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

  test('a reaction tells the names of twenty people, and the number of the others', async () => {
    const xao = await signIn('xao')
    await createChannel(xao, 'crew deck')
    await say(xao, 'crew deck', 'shore leave')
    const [, id] = /\/c\/([^/]+)/.exec(xao.url())!
    const crew: Person[] = []
    for (let n = 0; n < 21; n++) crew.push(await Person.signIn(site.baseUrl, `hand.${n}@example.com`))
    const { messages } = (await crew[0]!.get(`/channels/${id}/messages`)).body
    for (const { post } of crew) await post(`/messages/${messages[0].id}/reactions`, { reaction: '⛵' })
    const reaction = article(xao, 'shore leave').getByRole('button', { name: '⛵ 21' })
    await reaction.hover()
    await expect.poll(() => reaction.getAttribute('title')).toMatch(/^hand\.0, (hand\.\d+, ){18}hand\.19 \+1$/)
  })

  test('the text of a message with files can be removed, and ArrowUp edits no message that was deleted', async () => {
    const xia = await signIn('xia')
    await createChannel(xia, 'scullery')
    await say(xia, 'scullery', 'no soup')
    await xia
      .locator('input[type=file]')
      .setInputFiles({ name: 'menu.txt', mimeType: 'text/plain', buffer: Buffer.from('soup') })
    await say(xia, 'scullery', 'see below')
    await say(xia, 'scullery', 'sorry')
    await act(xia, 'sorry', 'Delete')
    await xia.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await article(xia, 'sorry').waitFor({ state: 'detached' })
    await composer(xia, 'scullery').press('ArrowUp')
    const edit = xia.getByRole('textbox', { name: 'Edit message' })
    expect(await edit.inputValue()).toBe('see below')
    await edit.fill('')
    await edit.press('Enter')
    await article(xia, 'menu.txt').getByText('(edited)').waitFor()
    expect(await article(xia, 'see below').count()).toBe(0)
  })

  test('text that was copied from an office program is pasted as text, and a picture as a file', async () => {
    const yan = await signIn('yan')
    await createChannel(yan, 'purser')
    const paste = (text: Record<string, string>) =>
      composer(yan, 'purser').evaluate((box, given) => {
        const clipboardData = new DataTransfer()
        for (const [type, value] of Object.entries(given)) clipboardData.setData(type, value)
        clipboardData.items.add(new File(['picture'], 'image.png', { type: 'image/png' }))
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        // The browser pastes the text, unless the page prevents it.
        return box.dispatchEvent(event)
      }, text)
    const file = yan.getByRole('button', { name: 'Remove image.png' })
    expect(await paste({ 'text/plain': 'a\tb', 'text/html': '<table><tr><td>a<td>b</table>' })).toBe(true)
    expect(await file.count()).toBe(0)
    expect(await paste({ 'text/html': '<img src="https://example.com/image.png">' })).toBe(false)
    await file.waitFor()
  })

  test('a message is sent without the quotation of a message that was deleted, and a link to a message opens in the same tab', async () => {
    const yul = await signIn('yul')
    await createChannel(yul, 'wheelhouse')
    const [, id] = /\/c\/([^/]+)/.exec(yul.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const heading = await eve.says('north by west', { id: id! })
    await act(yul, 'north by west', 'Quote')
    await yul.getByText('Quoting eve').waitFor()
    await eve.delete(`/messages/${heading.id}`)
    await yul.getByText('Quoting eve').waitFor({ state: 'detached' })
    await say(yul, 'wheelhouse', 'understood')
    const address = await article(yul, 'understood').getByRole('link').getAttribute('href')

    await eve.says(`As you said in ${site.baseUrl}${address}`, { id: id! })
    await article(yul, 'As you said').getByRole('link', { name: site.baseUrl }).click()
    await yul.waitForURL(`**${address}`)
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

  test('a person who types a search while the first channel opens keeps the focus', async () => {
    const page = await site.openPage('/', { withoutWorker: true })
    const opens = Promise.withResolvers<void>()
    await page.route(/\/channels\?/, async (route) => {
      await opens.promise
      await route.continue()
    })
    await page.getByLabel('Email').fill('quick@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('searchbox', { name: 'Search', exact: true }).pressSequentially('lan')
    opens.resolve()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    // The text box takes the focus after the first paint.
    await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
    await page.keyboard.type('tern')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/search?q=lantern')
  })

  test('a menu keeps the focus while the first channel opens', async () => {
    const page = await site.openPage('/', { withoutWorker: true })
    const opens = Promise.withResolvers<void>()
    await page.route(/\/channels\?/, async (route) => {
      await opens.promise
      await route.continue()
    })
    await page.getByLabel('Email').fill('brisk@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).press('Enter')
    const item = page.getByRole('menuitem', { name: 'Profile' })
    await hasFocus(item)
    opens.resolve()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    // The text box takes the focus after the first paint.
    await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
    await hasFocus(item)
  })

  test('a person types on after Escape has closed a dialog', async () => {
    const page = await signIn('uwe')
    await createChannel(page, 'hawser')
    const box = composer(page, 'hawser')
    const dialog = page.getByRole('dialog', { name: 'Switch to' })
    // On a slow machine, Chromium often returned the focus with the caret that the text box had before the last letter.
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    for (const typed of ['a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef', 'abcdefg', 'abcdefgh']) {
      await page.keyboard.press('Control+k')
      await dialog.getByRole('option').first().waitFor()
      await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await hasFocus(box)
      await page.keyboard.type(typed.at(-1)!)
      expect(await box.inputValue()).toBe(typed)
    }
  })

  test('a person writes on after the text of a draft', async () => {
    const page = await signIn('vera')
    for (const name of ['rudder', 'tiller']) await createChannel(page, name)
    const box = composer(page, 'tiller')
    await hasFocus(box)
    await page.keyboard.type('to be')
    await openChannel(page, 'rudder')
    await hasFocus(composer(page, 'rudder'))
    await openChannel(page, 'tiller')
    await hasFocus(box)
    await page.keyboard.type(' continued')
    expect(await box.inputValue()).toBe('to be continued')
    await page.reload()
    await hasFocus(box)
    await page.keyboard.type('!')
    expect(await box.inputValue()).toBe('to be continued!')
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

  test('the text box gets the focus when a person chooses the channel that is open already, also on a narrow page', async () => {
    const page = await signIn('wanda')
    await createChannel(page, 'lighthouse')
    const link = channels(page).getByRole('link', { name: 'lighthouse' })
    const box = composer(page, 'lighthouse')
    await link.press('Enter')
    await hasFocus(box)
    await page.setViewportSize({ width: 390, height: 800 })
    await page.getByRole('button', { name: 'Navigation' }).press('Enter')
    await link.click()
    await hasFocus(box)
  })

  test.each([
    ['begins to type a search', 'beacon', 'swift'],
    ['goes to the search', '', 'nimble'],
  ])(
    'a person keeps the focus who %s when the text box of the first channel has just appeared',
    async (_, typed, name) => {
      const page = await site.openPage('/', { withoutWorker: true })
      // The text box has appeared, and takes the focus after the next paint.
      await page.addInitScript((text) => {
        new MutationObserver((_, observer) => {
          const field = document.querySelector<HTMLInputElement>('.search input')
          if (!field || !document.querySelector('.main > .composer textarea')) return
          observer.disconnect()
          field.value = text
          field.focus()
        }).observe(document, { subtree: true, childList: true })
      }, typed)
      await page.reload()
      await page.getByLabel('Email').fill(`${name}@example.com`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
      await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
      await page.keyboard.type('beacon'.slice(typed.length))
      await page.keyboard.press('Enter')
      await page.waitForURL('**/search?q=beacon')
    },
  )

  test('the focus of a person with a keyboard stays while their picture is changed and after it is removed', async () => {
    const page = await signIn('ines', '/profile')
    // Begins before the key is pressed, because the browser needs a moment to hand the choice to the test.
    const chooser = page.waitForEvent('filechooser')
    const change = page.getByRole('button', { name: 'Change picture' })
    // The heading of a page gets the focus when the page has opened.
    await hasFocus(page.getByRole('heading', { level: 1 }))
    await change.focus()
    await page.keyboard.press('Enter')
    await (await chooser).setFiles({ name: 'me.png', mimeType: 'image/png', buffer: whitePng(40) })
    const remove = page.getByRole('button', { name: 'Remove picture' })
    await remove.waitFor()
    await hasFocus(change)
    await page.keyboard.press('Tab')
    await hasFocus(remove)
    await page.keyboard.press('Enter')
    await remove.waitFor({ state: 'detached' })
    await hasFocus(change)
  })

  test('a picture that is larger than the server takes is made smaller', async () => {
    const page = await signIn('kara', '/profile')
    // Programs ignore what is behind the end of a picture.
    const buffer = Buffer.concat([png(900, 600, [20, 120, 160]), Buffer.alloc(1_200_000)])
    await page.getByLabel('Picture').last().setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer })
    await page.getByRole('button', { name: 'Remove picture' }).waitFor()
    const face = page.getByRole('region', { name: 'Picture' }).locator('img[src^="blob:"]')
    await face.waitFor()
    expect(
      await face.evaluate(({ naturalWidth, naturalHeight }: HTMLImageElement) => [naturalWidth, naturalHeight]),
    ).toEqual([256, 256])
  })

  test('a form is busy until its response comes, and then shows the error', async () => {
    const page = await signIn('lars', '/profile', { withoutWorker: true })
    const held = Promise.withResolvers<Route>()
    await page.route('**/users/me', (route) =>
      route.request().method() === 'PUT' ? held.resolve(route) : route.continue(),
    )
    const name = page.getByRole('textbox', { name: 'Name' })
    const form = page.locator('form', { has: name })
    await name.fill('Lars the late')
    await name.press('Enter')
    const route = await held.promise
    expect(await form.getAttribute('aria-busy')).toBe('true')
    await route.fulfill({ status: 409, json: { error: 'Somebody has this name', code: 'conflict' } })
    await page.getByRole('alert').filter({ hasText: 'Somebody has this name' }).waitFor()
    expect(await form.getAttribute('aria-busy')).toBe(null)
  })

  test('a channel that is deleted while it is open says so, and the focus is on the heading', async () => {
    const mo = await Person.signIn(site.baseUrl, 'mo@example.com')
    const channel = await mo.creates({ name: 'short-lived' })
    const page = await signIn('nils', `/c/${channel.id}`)
    await hasFocus(composer(page, 'short-lived'))
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('dialog', { name: 'Channel settings' }).waitFor()
    await mo.delete(`/channels/${channel.id}`)
    await page.getByText('The channel was deleted, or you may not read it any more.').waitFor()
    await hasFocus(page.getByRole('heading', { level: 1, name: 'Not found' }))
  })

  test('a form says "Saved" only until the person changes it again', async () => {
    const page = await signIn('jana', '/profile')
    const saved = page.getByText('Saved', { exact: true })
    await page.getByRole('textbox', { name: 'Name' }).fill('Jana the first')
    await page.keyboard.press('Enter')
    await saved.waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Jana the second')
    await saved.waitFor({ state: 'detached' })
  })

  test('the focus of a person with a keyboard stays near a button that its press has removed', async () => {
    const flo = await signIn('flo', '/', { withoutWorker: true })
    await createChannel(flo, 'anchorage')
    await say(flo, 'anchorage', 'slow down')
    await say(flo, 'anchorage', 'drop anchor')
    const message = article(flo, 'drop anchor')
    await message.getByRole('link').waitFor({ state: 'attached' })
    // The keyboard moved the focus, so the browser shows it.
    await flo.keyboard.press('Shift+Tab')
    await message.focus()
    const quick = message.getByRole('button', { name: 'Respond with +1' })
    await quick.press('Enter')
    await quick.waitFor({ state: 'detached' })
    await hasFocus(message)
    const reaction = message.getByRole('button', { name: /👍.* 1/ })
    await reaction.press('Enter')
    await reaction.waitFor({ state: 'detached' })
    await hasFocus(message)

    await message.getByRole('button', { name: 'More actions' }).press('Enter')
    await flo.getByRole('menuitem', { name: 'Delete' }).press('Enter')
    await flo.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).press('Enter')
    const undo = flo.getByRole('button', { name: 'Undo' })
    await hasFocus(undo)
    await undo.press('Enter')
    await undo.waitFor({ state: 'detached' })
    await hasFocus(article(flo, 'slow down'))

    const gil = await Person.signIn(site.baseUrl, 'gil@example.com')
    const open = await gil.creates({ name: 'open roads' })
    await flo.goto(`${site.baseUrl}/c/${open.id}`)
    const join = flo.getByRole('button', { name: 'Join channel' })
    let joins = 0
    await flo.route('**/join', (route) =>
      ++joins === 1 ? route.fulfill({ status: 403, json: { error: 'Not yet' } }) : route.continue(),
    )
    await join.press('Enter')
    const problem = flo.getByRole('alert').filter({ hasText: 'Not yet' })
    await problem.getByRole('button', { name: 'Close' }).press('Enter')
    await problem.waitFor({ state: 'detached' })
    await hasFocus(composer(flo, 'open roads'))
    await join.press('Enter')
    await join.waitFor({ state: 'detached' })
    await hasFocus(composer(flo, 'open roads'))
  })

  test('the focus stays in a dialog whose form is replaced by its result', async () => {
    const admin = await signIn('admin', '/admin/scim')
    await admin.getByRole('button', { name: 'Create SCIM client' }).press('Enter')
    const dialog = admin.getByRole('dialog', { name: 'Create SCIM client' })
    await dialog.getByLabel('Name').fill('Harbour office')
    await admin.keyboard.press('Tab')
    await admin.keyboard.press('Enter')
    await dialog.getByRole('textbox').first().waitFor()
    await dialog.getByRole('button', { name: 'Create' }).waitFor({ state: 'detached' })
    await hasFocus(dialog.getByRole('button', { name: 'Close' }))
  })

  test('after the last "Show more" the focus is on the control before the new results', async () => {
    const ben = await Person.signIn(site.baseUrl, 'ben@example.com')
    const shoal = await ben.creates({ name: 'shoal' })
    for (let n = 1; n <= 31; n++) await ben.says(`herring ${n}.`, shoal)
    const page = await signIn('hedda', '/search?q=herring')
    const found = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    await expect.poll(() => found.count()).toBe(30)
    await page.keyboard.press('Tab')
    const more = page.getByRole('button', { name: 'Show more' })
    await more.press('Enter')
    await more.waitFor({ state: 'detached' })
    const inFocus = () => page.evaluate(() => document.activeElement?.closest('article')?.textContent)
    await expect.poll(inFocus).toContain('herring 2.')
  })

  test('a chosen quotation stays with the draft, until its message is deleted', async () => {
    const kai = await signIn('kai')
    await createChannel(kai, 'forecastle')
    const [, id] = /\/c\/([^/]+)/.exec(kai.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    await eve.says('first watch', { id: id! })
    const second = await eve.says('second watch', { id: id! })
    const third = await eve.says('third watch', { id: id! })
    const quotation = kai.getByText('Quoting eve')
    // A message that arrives would move the list below the pointer.
    await article(kai, 'third watch').waitFor()
    await act(kai, 'first watch', 'Quote')
    await expect.poll(() => composer(kai, 'forecastle').evaluate((box) => box === document.activeElement)).toBe(true)
    await openChannel(kai, 'General')
    expect(await quotation.count()).toBe(0)
    await channels(kai).getByRole('link', { name: 'forecastle' }).getByText('Draft').waitFor()
    await openChannel(kai, 'forecastle')
    await quotation.waitFor()
    expect(await quotation.textContent()).toContain('first watch')
    await kai.reload()
    await quotation.waitFor()
    await say(kai, 'forecastle', 'thank you')
    await article(kai, 'thank you').getByRole('blockquote').getByText('first watch').waitFor()
    await quotation.waitFor({ state: 'detached' })

    await act(kai, 'second watch', 'Quote')
    await openChannel(kai, 'General')
    const draft = channels(kai).getByRole('link', { name: 'forecastle' }).getByText('Draft')
    await draft.waitFor()
    await eve.delete(`/messages/${second.id}`)
    await draft.waitFor({ state: 'detached' })

    // When a session ends by itself, drafts stay, but no events say what happens until the next sign-in.
    await openChannel(kai, 'forecastle')
    await act(kai, 'third watch', 'Quote')
    await composer(kai, 'forecastle').fill('half a thought')
    const same = await Person.signIn(site.baseUrl, 'kai@example.com')
    await same.delete('/auth/sessions')
    await kai.getByRole('button', { name: 'Sign in' }).waitFor()
    await eve.delete(`/messages/${third.id}`)
    await kai.getByLabel('Email').fill('kai@example.com')
    await kai.getByRole('button', { name: 'Sign in' }).click()
    await openChannel(kai, 'forecastle')
    await quotation.waitFor({ state: 'detached' })
    expect(await composer(kai, 'forecastle').inputValue()).toBe('half a thought')
  })

  test('"Mark as unread" counts the messages of others that are not deleted, until the person writes in the channel', async () => {
    const rhea = await signIn('rhea')
    await createChannel(rhea, 'gravel')
    const [, id] = /\/c\/([^/]+)/.exec(rhea.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const eveSays = async (text: string) => {
      const message = await eve.says(text, { id: id! })
      await article(rhea, text).waitFor()
      return message
    }
    await eveSays('one.')
    const two = await eveSays('two.')
    await say(rhea, 'gravel', 'mine')
    const three = await eveSays('three.')
    await eveSays('four.')
    await eve.delete(`/messages/${three.id}`)
    await article(rhea, 'three.').waitFor({ state: 'detached' })

    const unread = (count: number) =>
      channels(rhea).getByRole('link', { name: new RegExp(`^gravel.* ${count} unread messages?$`) })
    await act(rhea, 'one.', 'Mark as unread')
    await unread(3).waitFor()
    await expect.poll(() => rhea.title()).toMatch(/^\(3\) #gravel/)
    await eve.delete(`/messages/${two.id}`)
    await unread(2).waitFor()
    await eveSays('five.')
    await unread(3).waitFor()
    await openChannel(rhea, 'General')
    await rhea.reload()
    await unread(3).waitFor()
    await openChannel(rhea, 'gravel')
    await channels(rhea)
      .getByRole('link', { name: /gravel.*unread/ })
      .waitFor({ state: 'detached' })

    await act(rhea, 'four.', 'Mark as unread')
    await unread(2).waitFor()
    await say(rhea, 'gravel', 'mine too')
    await channels(rhea)
      .getByRole('link', { name: /gravel.*unread/ })
      .waitFor({ state: 'detached' })
  })

  test('"Mark as unread" counts the messages that are not loaded too', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const keel = await eve.creates({ name: 'keel' })
    const sent: { id: string }[] = []
    for (let n = 1; n <= 90; n++) sent.push(await eve.says(`plank ${n}.`, keel))
    const ria = await Person.signIn(site.baseUrl, 'ria@example.com')
    await ria.post(`/channels/${keel.id}/join`)
    await ria.says('mine', keel)
    await eve.delete(`/messages/${sent[84]!.id}`)
    const page = await signIn('ria', `/c/${keel.id}/m/${sent[9]!.id}`, { withoutWorker: true })
    const unread = (count: number) =>
      channels(page).getByRole('link', { name: new RegExp(`^keel.* ${count} unread messages$`) })
    await act(page, 'plank 10.', 'Mark as unread')
    await unread(80).waitFor()
    await eve.delete(`/messages/${sent[79]!.id}`)
    await unread(79).waitFor()

    // Until the messages can be fetched, only their number is known. The mark stays when all known ones are deleted.
    await page.route('**/messages?*after=*', (route) => route.abort())
    await page.goto(`${site.baseUrl}/c/${keel.id}/m/${sent[9]!.id}`)
    await act(page, 'plank 10.', 'Mark as unread')
    for (const { id } of sent.slice(9, 60).reverse()) await eve.delete(`/messages/${id}`)
    await article(page, 'plank 10.').waitFor({ state: 'detached' })
    await channels(page)
      .getByRole('link', { name: /^keel.*unread/ })
      .waitFor()
  })

  test('the card of a removed person has their name, and says that they are gone', async () => {
    const dan = await signIn('dan')
    await createChannel(dan, 'gunwale')
    const gus = await Person.signIn(site.baseUrl, 'gus@example.com')
    const [, id] = /\/c\/([^/]+)/.exec(dan.url())!
    await gus.post(`/channels/${id}/join`)
    const farewell = await gus.says('farewell', { id: id! })
    await gus.post(`/messages/${farewell.id}/reactions`, { reaction: '⚓' })
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    await admin.delete(`/users/${gus.id}`)
    await article(dan, 'farewell').getByRole('button', { name: 'gus', exact: true }).click()
    const card = dan.getByRole('dialog', { name: 'gus' })
    await card.getByText('This person is no longer on this server.').waitFor()
    await isAccessible(dan)
    await dan.keyboard.press('Escape')
    const reaction = article(dan, 'farewell').getByRole('button', { name: '⚓ 1' })
    await reaction.hover()
    await expect.poll(() => reaction.getAttribute('title')).toBe('+1')
  })

  test('Alt with an arrow key opens the first or the last channel from a page that is not a channel', async () => {
    const alma = await Person.signIn(site.baseUrl, 'alma@example.com')
    for (const name of ['aft first', 'aft second']) await alma.creates({ name })
    const page = await signIn('alma', '/preferences')
    await channels(page).getByRole('link', { name: 'General' }).waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'aft first' }).waitFor()
    await page.goBack()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Preferences' }).waitFor()
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByRole('heading', { level: 1, name: 'aft first' }).waitFor()
  })

  test('Alt with an arrow key changes no channel in a choice of the browser or below a dialog', async () => {
    const page = await signIn('alva', '/preferences')
    await channels(page).getByRole('link', { name: 'General' }).waitFor()
    const theme = page.getByRole('combobox', { name: 'Theme' })
    await theme.press('Alt+ArrowDown')
    expect(new URL(page.url()).pathname).toBe('/preferences')
    await page.keyboard.press('Escape')
    await createChannel(page, 'alcove')
    const address = page.url()
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const pins = page.getByRole('dialog', { name: 'Pinned messages' })
    await pins.waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    expect(page.url()).toBe(address)
    await page.keyboard.press('Escape')
    await pins.waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+ArrowUp')
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
  })

  test('a pinned message leads to its place, and a sent reply is shown after a link to an old one', async () => {
    const zoe = await signIn('zoe')
    await createChannel(zoe, 'bridge deck')
    const [, id] = /\/c\/([^/]+)/.exec(zoe.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const course = await eve.says('our course', { id: id! })
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

  test('a person is asked before they leave a private channel, which they cannot join again', async () => {
    const owner = await Person.signIn(site.baseUrl, 'owen@example.com')
    const pia = await Person.signIn(site.baseUrl, 'pia@example.com')
    await owner.creates({ name: 'crypt', isPrivate: true, members: [pia.id] })
    await owner.creates({ name: 'vault', isPrivate: true, members: [pia.id] })
    const page = await signIn('pia')
    const link = (name: string) => channels(page).getByRole('link', { name })
    const question = page.getByRole('dialog', { name: 'Leave channel' })
    await openChannel(page, 'crypt')
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('button', { name: 'Leave channel' }).click()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Leave channel' }).click()
    await question.getByRole('button', { name: 'Leave', exact: true }).click()
    await link('crypt').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Browse channels' }).click()
    await page.getByRole('searchbox', { name: 'Find a channel' }).fill('vault')
    await page.getByRole('button', { name: 'Leave vault' }).click()
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect(await link('vault').count()).toBe(1)
    await page.getByRole('button', { name: 'Leave vault' }).click()
    await question.getByRole('button', { name: 'Leave', exact: true }).click()
    await link('vault').waitFor({ state: 'detached' })
  })

  test('Shift with Alt and an arrow key opens the next channel with unread messages, and a slash goes to the search', async () => {
    const rosa = await signIn('rosa')
    for (const name of ['unread-a', 'unread-b', 'unread-c']) await createChannel(rosa, name)
    const sam = await Person.signIn(site.baseUrl, 'sam@example.com')
    await openChannel(rosa, 'unread-a')
    const { channels: all } = (await sam.get('/channels?q=unread-c')).body
    await sam.says('anybody here?', all[0])
    await channels(rosa)
      .getByRole('link', { name: /^unread-c.*1 unread/ })
      .waitFor()
    await rosa.keyboard.press('Alt+Shift+ArrowDown')
    await rosa.getByRole('heading', { level: 1, name: 'unread-c' }).waitFor()
    await channels(rosa)
      .getByRole('link', { name: /^unread-c$/ })
      .waitFor()
    await rosa.keyboard.press('Alt+Shift+ArrowUp')
    await composer(rosa, 'unread-c').press('/')
    expect(await composer(rosa, 'unread-c').inputValue()).toBe('/')
    await article(rosa, 'anybody here?').focus()
    await rosa.keyboard.press('/')
    const field = rosa.getByRole('searchbox', { name: 'Search', exact: true })
    await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await field.inputValue()).toBe('')
  })

  test('shortcuts of a single character can be switched off, because speech input presses them by mistake', async () => {
    const uma = await signIn('uma')
    await createChannel(uma, 'dictation')
    await say(uma, 'dictation', 'and or')
    const address = uma.url()
    await uma.goto(`${site.baseUrl}/preferences`)
    await uma.getByRole('checkbox', { name: 'Shortcuts of a single character' }).uncheck()
    await isAccessible(uma)
    await uma.goto(address)
    await article(uma, 'and or').focus()
    await uma.keyboard.press('/')
    await expect.poll(() => composer(uma, 'dictation').inputValue()).toBe('/')
    await article(uma, 'and or').focus()
    await uma.keyboard.press('?')
    await expect.poll(() => composer(uma, 'dictation').inputValue()).toBe('/?')
    await uma.keyboard.press('Control+/')
    const list = uma.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.getByRole('row', { name: /^Show this list/ }).waitFor()
    expect(await list.getByRole('row', { name: /^Search/ }).count()).toBe(0)
  })

  test('whoever leaves or deletes a channel is led to another one, and the others are told', async () => {
    const ada = await signIn('ada')
    // The first channel of the list is the one that the home page opens.
    await createChannel(ada, 'aaa left')
    await ada.getByRole('button', { name: 'Channel settings' }).click()
    await ada.getByRole('button', { name: 'Leave channel' }).click()
    await ada.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await createChannel(ada, 'aaa gone')
    const ben = await signIn('ben', new URL(ada.url()).pathname)
    await ben.getByRole('heading', { level: 1, name: 'aaa gone' }).waitFor()
    const join = ben.getByRole('button', { name: 'Join channel' })
    await join.click()
    await join.waitFor({ state: 'detached' })

    // Whoever has left a public channel in another window may still read it in this one.
    await ben.evaluate(`new MutationObserver(() => {
      if (document.querySelector('h1')?.textContent === 'Not found') document.documentElement.dataset.wasNotFound = ''
    }).observe(document.body, { childList: true, subtree: true })`)
    const me = await Person.signIn(site.baseUrl, 'ben@example.com')
    await me.post(`${new URL(ben.url()).pathname.replace('/c/', '/channels/')}/leave`)
    await join.waitFor()
    expect(await ben.locator('[data-was-not-found]').count()).toBe(0)

    await ada.getByRole('button', { name: 'Channel settings' }).click()
    await ada.getByRole('button', { name: 'Delete channel' }).click()
    await ada.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await ada.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await ben.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
  })
}
