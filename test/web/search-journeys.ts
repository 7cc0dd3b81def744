import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, composer, createChannel, isAccessible, openChannel, say } from './visitors.ts'

/** Searches, their filters and their results. */
export function searchJourneys(site: Site) {
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

  test('a part of a name that several channels and conversations have offers them, and one that a single one has is enough', async () => {
    const wick = await Person.signIn(site.baseUrl, 'wick@example.com')
    const lamps = await wick.creates({ name: 'lamps-harbour' })
    const tower = await wick.creates({ name: 'the-lamps-tower' })
    await wick.says('oil for the harbour', lamps)
    await wick.says('oil for the tower', tower)
    const lampman = await Person.signIn(site.baseUrl, 'lampsman@example.com')
    const { conversation } = (await wick.post('/conversations', { targetUserId: lampman.id })).body
    await wick.post(`/conversations/${conversation.id}/messages`, { content: 'oil for you' })
    const page = await signIn('wick')
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const region = page.getByRole('region', { name: 'Search results' })
    await field.fill('oil in:lamps')
    await field.press('Enter')
    await region.getByRole('status').filter({ hasText: 'Several channels or conversations match this name' }).waitFor()
    expect(await region.getByRole('link').allTextContents()).toEqual(['#lamps-harbour', 'lampsman', '#the-lamps-tower'])
    await isAccessible(page)
    await region.getByRole('link', { name: '#the-lamps-tower' }).click()
    await region.getByRole('article').filter({ hasText: 'oil for the tower' }).waitFor()
    expect(await region.getByRole('article').count()).toBe(1)
    expect(await field.inputValue()).toBe('oil in:the-lamps-tower')

    await field.fill('oil in:lampsm')
    await field.press('Enter')
    await region.getByRole('article').filter({ hasText: 'oil for you' }).waitFor()
    expect(await region.getByRole('article').count()).toBe(1)
  })

  test('the filter from: finds people who are deactivated or removed, by the whole name and by a part of it', async () => {
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const loft = await admin.creates({ name: 'loft' })
    for (const [name, content] of [
      ['merlin.swift', 'wings of swift'],
      ['merlin.martin', 'wings of martin'],
      ['merlina', 'wings of merlina'],
    ] as const)
      await (await Person.signIn(site.baseUrl, `${name}@example.com`)).says(content, loft)
    const idOf = async (name: string) => (await admin.get(`/users?q=${name}`)).body.users[0].id
    expect((await admin.put(`/users/${await idOf('merlin.swift')}/active`, { isActive: false })).status).toBe(200)
    expect((await admin.delete(`/users/${await idOf('merlin.martin')}`)).status).toBe(200)

    const page = await signIn('talon')
    const field = page.getByRole('searchbox', { name: 'Search', exact: true })
    const region = page.getByRole('region', { name: 'Search results' })
    const find = async (query: string, text: string) => {
      await field.fill(query)
      await field.press('Enter')
      await region.getByRole('article').filter({ hasText: text }).waitFor()
      expect(await region.getByRole('article').count()).toBe(1)
    }
    await find('from:merlin.swift', 'wings of swift')
    await find('wings from:merlin.martin', 'wings of martin')
    await find('from:merlina', 'wings of merlina')
    await field.fill('from:merlin')
    await field.press('Enter')
    await region.getByRole('status').filter({ hasText: 'Several people match this name' }).waitFor()
    expect(await region.getByRole('link').allTextContents()).toEqual(
      expect.arrayContaining(['merlina', 'merlin.swift', 'merlin.martin']),
    )
    await region.getByRole('link', { name: 'merlin.swift' }).click()
    await region.getByRole('article').filter({ hasText: 'wings of swift' }).waitFor()

    const desk = await signIn('admin', '/admin/audit', { withoutWorker: true })
    const filters = desk.getByRole('form', { name: 'Filters' })
    await filters.getByLabel('Who').fill('merlin.swift')
    await Promise.all([
      desk.waitForResponse('**/admin/audit-log?*actorId=*'),
      filters.getByRole('button', { name: 'Filter' }).click(),
    ])
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
}
