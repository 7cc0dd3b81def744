import type { Locator, Page, Route } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import {
  act,
  article,
  channels,
  composer,
  createChannel,
  isAccessible,
  openChannel,
  say,
  untilDrawn,
} from './visitors.ts'

/** Clicks "Show more" twice. The response with the next page comes after everything that `meanwhile` does. */
async function showMore(page: Page, within: Page | Locator, meanwhile = async () => {}) {
  const pattern = '**?*after=*'
  const held: Route[] = []
  let isHolding = true
  await page.route(pattern, async (route) => {
    if (isHolding) held.push(route)
    else await route.continue()
  })
  await within.getByRole('button', { name: 'Show more' }).dblclick()
  await meanwhile()
  await expect.poll(() => held.length).toBeGreaterThan(0)
  isHolding = false
  for (const route of held) {
    await route.continue()
    await (await route.request().response())!.finished()
  }
  await page.unroute(pattern)
  // Longer than the page needs to render the response.
  await untilDrawn(page)
}

/** Searches, lists of several pages, and the choices that each person makes for themselves. */
export function findingJourneys(site: Site) {
  const { signIn } = site

  test('a search is narrowed to days in the time zone of the person, by operators and by the form, and filters are removed', async () => {
    const writer = await Person.signIn(site.baseUrl, 'hal.north@example.com')
    const { createdAt } = await writer.says('sextant', await writer.creates({ name: 'horizon' }))
    // In one of these time zones it was not the same day as in UTC when the message was sent.
    const timezoneId = new Date(createdAt).getUTCHours() < 12 ? 'Etc/GMT+12' : 'Etc/GMT-14'
    const hal = await signIn('hal.north', '/', { timezoneId })
    // The format of this language is that of the operators.
    const dayIn = (timeZone: string) => new Intl.DateTimeFormat('sv', { timeZone }).format(createdAt)
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
      await results.getByText('A search has these operators:').waitFor()
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

  test('filters without words find the messages of a person, and those of a channel or conversation', async () => {
    const [ingrid, moss] = [
      await Person.signIn(site.baseUrl, 'ingrid@example.com'),
      await Person.signIn(site.baseUrl, 'moss@example.com'),
    ]
    const cove = await ingrid.creates({ name: 'cove', members: [moss.id] })
    for (let n = 1; n <= 31; n++) await ingrid.says(`wave ${n}.`, cove)
    const parent = await moss.says('the tide is high', cove)
    await ingrid.post(`/messages/${parent.id}/thread`, { content: 'and it rises' })
    const { body } = await moss.post('/conversations', { targetUserId: ingrid.id })
    await moss.post(`/conversations/${body.conversation.id}/messages`, { content: 'only for you' })

    const page = await signIn('ingrid')
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const results = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    const find = async (query: string) => {
      await field.fill(query)
      await field.press('Enter')
      await page.waitForURL(`**/search?q=${encodeURIComponent(query)}`)
    }
    await find('from:me')
    await results.first().filter({ hasText: 'and it rises' }).waitFor()
    await expect.poll(() => results.count()).toBe(30)
    await page.getByRole('button', { name: 'Show more' }).click()
    await results.last().filter({ hasText: 'wave 1.' }).waitFor()
    expect(await results.count()).toBe(32)
    await find('in:cove from:moss')
    await results.filter({ hasText: 'the tide is high' }).waitFor()
    expect(await results.count()).toBe(1)
    await find('in:moss')
    await results.filter({ hasText: 'only for you' }).waitFor()
    expect(await results.count()).toBe(1)

    await find('in:cove')
    await results.first().filter({ hasText: 'the tide is high' }).waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await results.last().filter({ hasText: 'wave 1.' }).waitFor()
    expect(await results.count()).toBe(32)
    await page.getByRole('button', { name: 'Remove in:cove' }).click()
    await page.waitForURL('**/search?q=')
    await find('on:2026-11-25')
    await page.getByRole('alert').filter({ hasText: 'A search needs words, or the filter from: or in:' }).waitFor()
  })

  test('days without words find the messages of these days in a channel', async () => {
    const wren = await Person.signIn(site.baseUrl, 'wren@example.com')
    const tides = await wren.creates({ name: 'tides' })
    for (let n = 0; n < 45; n++) await wren.says(`swell ${n}.`, tides)
    const page = await signIn('wren', '/', { withoutWorker: true, timezoneId: 'UTC' })
    // The page gets each tenth message with the time of the next day.
    await page.route(`**/channels/${tides.id}/messages*`, async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      for (const message of body.messages) {
        const day = Math.floor(Number(/\d+/.exec(message.content)![0]) / 10)
        message.createdAt = Date.UTC(2026, 0, 1 + day, 12)
      }
      await route.fulfill({ response, json: body })
    })
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const results = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    for (const [days, count, newest, oldest] of [
      ['on:2026-01-03', 10, 'swell 29.', 'swell 20.'],
      ['before:2026-01-03', 20, 'swell 19.', 'swell 0.'],
      ['after:2026-01-03', 15, 'swell 44.', 'swell 30.'],
      ['after:2026-01-01 before:2026-01-04', 20, 'swell 29.', 'swell 10.'],
    ] as const) {
      await field.fill(`in:tides ${days}`)
      await field.press('Enter')
      await results.first().filter({ hasText: newest }).waitFor()
      await results.last().filter({ hasText: oldest }).waitFor()
      expect(await results.count()).toBe(count)
    }
    await field.fill('in:tides before:2026-01-01')
    await field.press('Enter')
    await page.getByText('Nothing was found').waitFor()
  })

  test('a name that several people have offers them, and one that a person has alone finds this person', async () => {
    const named = async (address: string, userName: string) => {
      const person = await Person.signIn(site.baseUrl, `${address}@example.com`)
      expect((await person.put('/users/me', { userName })).status).toBe(200)
      return person
    }
    const [lee, fox] = [await named('kestrel.1', 'Kestrel Lee'), await named('kestrel.2', 'Kestrel Fox')]
    const aviary = await lee.creates({ name: 'aviary', members: [fox.id] })
    await lee.says('feathers of lee', aviary)
    await fox.says('feathers of fox', aviary)
    const page = await signIn('kestrel.1')
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const results = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    await field.fill('feathers from:kestrel in:aviary')
    await field.press('Enter')
    const choices = page.getByRole('region', { name: 'Search results' })
    await choices.getByRole('status').filter({ hasText: 'Several people match this name' }).waitFor()
    await isAccessible(page)
    await choices.getByRole('link', { name: 'Kestrel Fox' }).click()
    await results.filter({ hasText: 'feathers of fox' }).waitFor()
    expect(await results.count()).toBe(1)
    expect(await field.inputValue()).toBe('feathers from:"Kestrel Fox" in:aviary')

    // Quotes enclose a name in a search.
    const roe = await named('kestrel.4', 'Kestrel "Kes" Roe')
    await roe.says('feathers of roe', aviary)
    await field.fill('feathers from:kestrel in:aviary')
    await field.press('Enter')
    await choices.getByRole('link', { name: 'Kestrel "Kes" Roe' }).click()
    await results.filter({ hasText: 'feathers of roe' }).waitFor()
    expect(await results.count()).toBe(1)

    const kestrel = await named('kestrel.3', 'Kestrel')
    await kestrel.says('feathers of nobody else', aviary)
    await field.fill('feathers from:kestrel')
    await field.press('Enter')
    await results.filter({ hasText: 'feathers of nobody else' }).waitFor()
    expect(await results.count()).toBe(1)
  })

  test('the text of a search is marked in its results, in upper and lower case and across formats', async () => {
    const ruth = await signIn('ruth')
    await createChannel(ruth, 'library')
    await say(ruth, 'library', 'The Photo album of the *photo* club', 'The Photo album of the photo club')
    await say(ruth, 'library', 'A **photo** album', 'A photo album')
    // The search finds it only when the server has it.
    await article(ruth, 'A photo album').getByRole('link').waitFor({ state: 'attached' })
    await composer(ruth, 'library').press('ArrowUp')
    await ruth.getByRole('textbox', { name: 'Edit message' }).fill('Her **photo** album')
    await ruth.keyboard.press('Enter')
    await article(ruth, 'Her photo album').getByText('(edited)').waitFor()
    const found = () => ruth.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map(String).sort())
    const field = ruth.getByRole('searchbox', { name: 'Search', exact: true })
    await field.fill('PHOTO in:library')
    await field.press('Enter')
    await expect.poll(found).toEqual(['Photo', 'photo', 'photo'])
    const marks = await ruth.evaluate(() => {
      const styleOf = (element: Element) => getComputedStyle(element, '::highlight(found)').backgroundColor
      const elements = [...CSS.highlights.get('found')!].map((range) => range.startContainer.parentElement!)
      return { words: elements.map(styleOf), heading: styleOf(document.querySelector('h1')!) }
    })
    expect(marks.words).toEqual(Array(3).fill(marks.words[0]))
    expect(marks.words[0]).not.toBe(marks.heading)
    await field.fill('"photo album" in:library')
    await field.press('Enter')
    await expect.poll(found).toEqual(['Photo album'])
    await openChannel(ruth, 'library')
    await expect.poll(found).toEqual([])
  })

  test('the filters of a search show what to type', async () => {
    const tilda = await signIn('tilda')
    await tilda.getByRole('searchbox', { name: 'Search', exact: true }).fill('tides')
    await tilda.keyboard.press('Enter')
    const filters = tilda.getByRole('form', { name: 'Filters' })
    await filters.getByPlaceholder('Name, or me').waitFor()
    await filters.getByPlaceholder('Channel or person').waitFor()
    await isAccessible(tilda)
  })

  test('the same search again fetches its results again, after a failure and for new messages', async () => {
    const ivy = await Person.signIn(site.baseUrl, 'ivy@example.com')
    const orchard = await ivy.creates({ name: 'orchard wall' })
    await ivy.says('quince one', orchard)
    const page = await signIn('ruth', '/', { withoutWorker: true })
    let isDown = true
    const unavailable = { status: 503, headers: { 'retry-after': '60' }, json: { error: 'Later' } }
    await page.route('**/search/messages*', (route) => (isDown ? route.fulfill(unavailable) : route.continue()))
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    await field.fill('quince')
    await field.press('Enter')
    const failure = page.getByRole('alert').filter({ hasText: 'Later' })
    await failure.waitFor()
    isDown = false
    await field.press('Enter')
    const found = page.getByRole('region', { name: 'Search results' }).getByRole('article')
    await found.filter({ hasText: 'quince one' }).waitFor()
    expect(await failure.count()).toBe(0)
    await ivy.says('quince two', orchard)
    await field.press('Enter')
    await found.filter({ hasText: 'quince two' }).waitFor()
    // "Back" leaves the search, however often it was repeated.
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
  })

  test('Ctrl+K and Enter return to the previous channel, and unread mentions come before it', async () => {
    const tess = await signIn('tess')
    for (const name of ['orchard', 'meadow', 'brook']) await createChannel(tess, name)
    await openChannel(tess, 'meadow')
    const options = tess.getByRole('dialog', { name: 'Switch to' }).getByRole('option')
    await tess.keyboard.press('Control+k')
    await options.nth(2).waitFor()
    expect(await options.nth(0).textContent()).toBe('brook')
    expect(await options.nth(1).textContent()).toBe('orchard')
    expect(await options.last().textContent()).toBe('meadow')
    await tess.keyboard.press('Enter')
    await tess.getByRole('heading', { level: 1, name: 'brook' }).waitFor()

    const uma = await Person.signIn(site.baseUrl, 'uma@example.com')
    const { channels: all } = (await uma.get('/channels?q=orchard')).body
    await uma.says('@tess the apples are ripe', all[0])
    await channels(tess)
      .getByRole('link', { name: /^orchard.*mention/ })
      .waitFor()
    await tess.keyboard.press('Control+k')
    await options.nth(1).waitFor()
    expect(await options.nth(0).textContent()).toBe('orchard')
    expect(await options.nth(1).textContent()).toBe('meadow')
    await tess.keyboard.press('Escape')

    // The address of a bot is an invented one.
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { body } = await admin.post('/bots', { userName: 'gardener', displayName: 'Waters the plants' })
    onTestFinished(async () => void (await admin.delete(`/bots/${body.bot.id}`)))
    await tess.keyboard.press('Control+k')
    await tess.getByRole('combobox', { name: 'Channel or person' }).fill('gardener')
    await tess.getByRole('option', { name: 'gardener Waters the plants', exact: true }).waitFor()
    await tess.keyboard.press('Escape')
    await composer(tess, 'brook').fill('@gard')
    await tess.getByRole('option', { name: '@gardener Waters the plants', exact: true }).waitFor()
  })

  test('the marked choice of Ctrl+K stays marked when others come, and a search without choices says so', async () => {
    const zeno = await Person.signIn(site.baseUrl, 'zeno@example.com')
    await zeno.creates({ name: 'weir' })
    const yann = await signIn('yann', '/', { withoutWorker: true })
    for (const name of ['upper weir', 'lower weir', 'elsewhere']) await createChannel(yann, name)
    const comes = Promise.withResolvers<void>()
    const searches = /\/channels\?.*\bq=weir/
    await yann.route(searches, async (route) => {
      await comes.promise
      await route.continue()
    })
    await yann.keyboard.press('Control+k')
    const dialog = yann.getByRole('dialog', { name: 'Switch to' })
    const field = dialog.getByRole('combobox')
    const marked = dialog.getByRole('option', { selected: true })
    await field.fill('weir')
    await expect.poll(() => dialog.getByRole('option').count()).toBe(2)
    await field.press('ArrowDown')
    await marked.filter({ hasText: 'upper weir' }).waitFor()
    comes.resolve()
    await expect.poll(() => dialog.getByRole('option').first().textContent()).toBe('weir')
    await marked.filter({ hasText: 'upper weir' }).waitFor()
    await field.press('Enter')
    await yann.getByRole('heading', { level: 1, name: 'upper weir' }).waitFor()

    await yann.keyboard.press('Control+k')
    await field.fill('nothing like this')
    await dialog.getByText('Nothing was found').waitFor()
    await yann.route(/\/channels\?.*\bq=/, (route) => route.fulfill({ status: 403, json: { error: 'Not now' } }))
    await field.fill('nothing like that')
    await dialog.getByRole('alert').filter({ hasText: 'Not now' }).waitFor()
    expect(await dialog.getByText('Nothing was found').count()).toBe(0)
    await isAccessible(yann)
    await field.fill('lower')
    await dialog.getByRole('alert').waitFor({ state: 'detached' })
    await marked.filter({ hasText: 'lower weir' }).waitFor()
  })

  test('Ctrl+K and the icon of the tab count messages that the person has marked as unread', async () => {
    const willa = await signIn('willa')
    for (const name of ['thicket', 'pasture']) await createChannel(willa, name)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const { id } = (await eve.get('/users?q=willa@')).body.users[0]
    const { conversation } = (await eve.post('/conversations', { targetUserId: id })).body
    await eve.post(`/conversations/${conversation.id}/messages`, { content: 'for later' })
    const icon = () => willa.locator('link[rel=icon]').getAttribute('href')
    await willa.getByRole('link', { name: /^eve.*1 unread message$/ }).click()
    await expect.poll(icon).toBe('/icons/192.png')
    await act(willa, 'for later', 'Mark as unread')
    await willa.getByRole('link', { name: /^eve.*1 unread message$/ }).waitFor()
    await openChannel(willa, 'thicket')
    await openChannel(willa, 'pasture')

    const options = willa.getByRole('dialog', { name: 'Switch to' }).getByRole('option')
    await willa.keyboard.press('Control+k')
    await options.nth(1).waitFor()
    expect(await options.nth(0).getByText('eve', { exact: true }).count()).toBe(1)
    expect(await options.nth(1).textContent()).toBe('thicket')
    await expect.poll(icon).toMatch(/^blob:/)
  })

  test('a joined channel stays joined when a list of channels from before comes late', async () => {
    const otto = await Person.signIn(site.baseUrl, 'otto@example.com')
    await otto.creates({ name: '0 late list' })
    const vera = await signIn('vera', '/', { withoutWorker: true })
    const { promise: joined, resolve: release } = Promise.withResolvers<void>()
    const { promise: fetched, resolve: onFetched } = Promise.withResolvers<void>()
    await vera.route(
      /\/channels\?.*q=0/,
      async (route) => {
        const response = await route.fetch()
        onFetched()
        await joined
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    await vera.getByRole('button', { name: 'Browse channels' }).click()
    const dialog = vera.getByRole('dialog', { name: 'Browse channels' })
    await dialog.getByRole('button', { name: 'Join 0 late list' }).waitFor()
    await dialog.getByRole('searchbox').fill('0 late')
    await fetched
    await dialog.getByRole('button', { name: 'Join 0 late list' }).click()
    await dialog.getByRole('button', { name: 'Leave 0 late list' }).waitFor()
    release()
    await expect.poll(() => dialog.getByRole('listitem').count()).toBe(1)
    await dialog.getByRole('button', { name: 'Leave 0 late list' }).waitFor()
  })

  test('"Show more" adds the next page of channels and members once, and only to the list that it belongs to', async () => {
    const ida = await Person.signIn(site.baseUrl, 'ida.south@example.com')
    const names = Array.from({ length: 51 }, (_, n) => `shelf.${n + 10}`)
    const members: string[] = []
    // One after the other: all at once would wait for the lock of the channel that each of them joins.
    for (const name of names) {
      members.push((await Person.signIn(site.baseUrl, `${name}@example.com`)).id)
      await ida.creates({ name })
    }
    await ida.creates({ name: 'full house', members })

    const page = await signIn('ida.south', '/', { withoutWorker: true })
    await page.getByRole('button', { name: 'Browse channels' }).click()
    const dialog = page.getByRole('dialog', { name: 'Browse channels' })
    const rows = dialog.getByRole('listitem')
    const field = dialog.getByRole('searchbox')
    await field.fill('shelf')
    await rows.filter({ hasText: 'shelf.59' }).waitFor()
    expect(await rows.count()).toBe(50)
    await dialog.getByRole('status').filter({ hasText: 'Shown results: 50' }).waitFor()
    await showMore(page, dialog)
    await rows.filter({ hasText: 'shelf.60' }).waitFor()
    expect(await rows.count()).toBe(51)
    await field.fill('shel')
    await expect.poll(() => rows.count()).toBe(50)
    await showMore(page, dialog, async () => {
      await field.fill('shelf.33')
      await expect.poll(() => rows.count()).toBe(1)
    })
    expect(await rows.count()).toBe(1)
    await field.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await openChannel(page, 'full house')
    await page.getByRole('button', { name: 'Channel settings' }).click()
    const people = page.getByRole('region', { name: 'Members' })
    const person = (name: string) => people.getByRole('button', { name: `Remove ${name}` })
    await expect.poll(() => people.getByRole('listitem').count()).toBe(50)
    await showMore(page, people)
    await expect.poll(() => people.getByRole('listitem').count()).toBe(52)
    // The others stay, and so does the end of the list.
    await person('shelf.59').click()
    await person('shelf.59').waitFor({ state: 'detached' })
    expect(await people.getByRole('listitem').count()).toBe(51)

    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { body } = await admin.post('/groups', { handle: 'shelves', name: 'Shelves', members })
    onTestFinished(async () => void (await admin.delete(`/groups/${body.group.id}`)))
    const desk = await signIn('admin', '/admin/groups', { withoutWorker: true })
    await desk.getByRole('button', { name: 'Actions for shelves' }).click()
    await desk.getByRole('menuitem', { name: 'Members' }).click()
    const inGroup = desk.getByRole('dialog', { name: 'Members of @shelves' })
    await showMore(desk, inGroup)
    await expect.poll(() => inGroup.getByRole('listitem').count()).toBe(51)
    await desk.keyboard.press('Escape')
    await desk.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'People' }).click()
    const shown = desk.getByRole('row', { name: /@example\.com/ })
    await expect.poll(() => shown.count()).toBeGreaterThan(49)
    await showMore(desk, desk, async () => {
      await desk.getByRole('searchbox', { name: 'Find a person' }).fill('shelf.33')
      await expect.poll(() => shown.count()).toBe(1)
    })
    expect(await shown.count()).toBe(1)
    // Somebody who is added meanwhile is shown first, and not a second time at their place in the list.
    await desk.getByRole('searchbox', { name: 'Find a person' }).fill('')
    await expect.poll(() => shown.count()).toBeGreaterThan(49)
    const late = desk.getByRole('row', { name: /zoe\.late@/ })
    await Person.signIn(site.baseUrl, 'zoe.late@example.com')
    await late.waitFor()
    const more = desk.getByRole('button', { name: 'Show more' })
    for (let isLast = false; !isLast; isLast = (await more.count()) === 0) {
      const before = await shown.count()
      await more.click()
      await expect.poll(async () => (await shown.count()) > before || (await more.count()) === 0).toBe(true)
    }
    expect(await late.count()).toBe(1)
  })

  test('a compact page has more messages in the same height, and others see the chosen presence', async () => {
    const jan = await signIn('jan', '/', { withoutWorker: true })
    await createChannel(jan, 'cabin')
    for (const text of ['up', 'down']) await say(jan, 'cabin', text)
    // Only a message that the server has is a link.
    await article(jan, 'down').getByRole('link').waitFor({ state: 'attached' })
    const height = () => article(jan, 'down').evaluate((row) => row.clientHeight)
    const comfortable = await height()
    const choose = async (view: string, field: string, option: string) => {
      await jan.getByRole('button', { name: 'Account' }).click()
      await jan.getByRole('menuitem', { name: view }).click()
      await jan.getByRole('combobox', { name: field }).selectOption(option)
    }
    await choose('Preferences', 'Density', 'Compact')
    await openChannel(jan, 'cabin')
    await expect.poll(height).toBeLessThan(comfortable)
    await jan.reload()
    await channels(jan).getByRole('link', { name: 'cabin' }).waitFor()
    await expect.poll(height).toBeLessThan(comfortable)

    const kit = await Person.signIn(site.baseUrl, 'kit@example.com')
    const [{ id }] = (await kit.get('/users?q=jan@')).body.users
    const presence = async () => (await kit.get(`/presence?ids=${id}`)).body.presence[0]?.status
    await choose('Profile', 'Status', 'Away')
    await expect.poll(presence).toBe('away')
    const status = jan.getByRole('combobox', { name: 'Status' })
    await jan.route('**/presence/me', (route) => route.fulfill({ status: 403, json: { error: 'Not now' } }))
    await status.selectOption('Online')
    await jan.getByRole('alert').filter({ hasText: 'Not now' }).waitFor()
    await expect.poll(() => status.inputValue()).toBe('away')
  })
}
