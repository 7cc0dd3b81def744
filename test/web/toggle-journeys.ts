import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, composer, hasFocus, isAccessible, untilDrawn } from './visitors.ts'

/** In the page: events that come after `closeEvents` wait for `openEvents`. */
const gate = `{
  const { fetch } = window
  let opened
  window.closeEvents = () => {
    opened = new Promise((resolve) => {
      window.openEvents = resolve
    })
  }
  window.fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!String(input).startsWith('/events')) return response
    const waiting = new TransformStream({
      async transform(chunk, out) {
        await opened
        out.enqueue(chunk)
      },
    })
    return new Response(response.body.pipeThrough(waiting), response)
  }
}`

const thumb = (page: Page) => article(page, 'land ahoy').getByRole('button', { name: /^👍 \d/ })

/** From now on: what the reaction shows, each time that it changes. */
async function watchThumb(page: Page) {
  await page.evaluate(() => {
    const list = document.querySelector('[role=feed]')!
    const shown: string[] = []
    const note = () => {
      const pill = [...list.querySelectorAll('.reaction')].find((each) => each.textContent.startsWith('👍'))
      const text = pill
        ? `${pill.textContent} ${pill.getAttribute('aria-pressed') === 'true' ? 'mine' : ''}`.trim()
        : 'none'
      if (text !== shown.at(-1)) shown.push(text)
    }
    note()
    new MutationObserver(note).observe(list, { subtree: true, childList: true, characterData: true, attributes: true })
    Object.assign(window, { shown })
  })
  return () => page.evaluate<string[]>('shown')
}

/** What a person turns on and off, while the responses are late. */
export function toggleJourneys(site: Site) {
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)

  /** The page of fay, with a message of eve to which eve has reacted. Its requests to change something wait in `held`. */
  async function meet({ isMember = true, isPrivate = false } = {}) {
    const [eve, fay] = [await person('eve'), await person('fay')]
    const members = isPrivate ? [fay.id] : []
    const channel = await eve.creates({ name: `slow ${randomUUID().slice(0, 8)}`, isPrivate, members })
    if (isMember && !isPrivate) await fay.post(`/channels/${channel.id}/join`)
    const { id } = await eve.says('land ahoy', channel)
    const path = `/messages/${id}/reactions`
    await eve.post(path, { reaction: '👍' })
    const page = await site.signIn('fay', '/', { withoutWorker: true })
    await page.addInitScript(gate)
    await page.goto(`${site.baseUrl}/c/${channel.id}`)
    await thumb(page).waitFor()
    const held: Route[] = []
    await page.route(/\/(reactions|pin|saved|join|leave)$/, async (route) => {
      if (route.request().method() === 'GET') await route.continue()
      else held.push(route)
    })
    const methods = () => held.map((route) => route.request().method())
    const reactions = async () => (await eve.get(`/messages/${id}`)).body.message.reactions as Record<string, string[]>
    return { eve, fay, channel, path, page, held, methods, reactions }
  }

  /** Sends the request. Resolves when the page has handled the response, without later events. */
  async function answer(page: Page, route: Route) {
    const request = route.request()
    const [response] = await Promise.all([page.waitForResponse((each) => each.request() === request), route.continue()])
    await response.finished()
    await untilDrawn(page)
  }

  test('a reaction is shown at once, and counted once when its event comes after the response and a later event', async () => {
    const { path, page, held } = await meet()
    const cy = await person('cy')
    const shown = await watchThumb(page)
    await page.evaluate('closeEvents()')
    await thumb(page).press('Enter')
    await expect.poll(shown).toEqual(['👍 1', '👍 2 mine'])
    await expect.poll(() => held.length).toBe(1)
    await cy.post(path, { reaction: '👍' })
    await answer(page, held[0]!)
    expect((await shown()).at(-1)).toBe('👍 2 mine')
    await page.evaluate('openEvents()')
    await expect.poll(shown).toEqual(['👍 1', '👍 2 mine', '👍 3 mine'])
    await hasFocus(thumb(page))
  })

  test('a reaction is counted once when its event comes before the response, and another tab may have removed it meanwhile', async () => {
    const { fay, path, page, held } = await meet()
    const cy = await person('cy')
    const shown = await watchThumb(page)
    await thumb(page).click()
    await expect.poll(() => held.length).toBe(1)
    const response = await held[0]!.fetch()
    await cy.post(path, { reaction: '👍' })
    await expect.poll(shown).toEqual(['👍 1', '👍 2 mine', '👍 3 mine'])
    await fay.delete(path, { reaction: '👍' })
    await cy.delete(path, { reaction: '👍' })
    await expect.poll(async () => (await shown()).at(-1)).toBe('👍 2 mine')
    await held[0]!.fulfill({ response })
    await expect.poll(shown).toEqual(['👍 1', '👍 2 mine', '👍 3 mine', '👍 2 mine', '👍 1'])
  })

  test('a reaction that the server refuses disappears, and the error is shown', async () => {
    const { page, held } = await meet()
    await act(page, 'land ahoy', 'React')
    await page.getByRole('searchbox', { name: 'Search emoji' }).fill('anchor')
    await page.keyboard.press('Enter')
    const anchor = article(page, 'land ahoy').getByRole('button', { name: /^⚓.* 1$/, pressed: true })
    await anchor.waitFor()
    await expect.poll(() => held.length).toBe(1)
    await held[0]!.fulfill({ status: 400, json: { error: 'A message can have at most 50 different reactions' } })
    await page.getByRole('alert').filter({ hasText: 'at most 50 different reactions' }).waitFor()
    await anchor.waitFor({ state: 'detached' })
    expect(await thumb(page).textContent()).toBe('👍 1')
  })

  test('after a refusal a reaction is shown as the server has acknowledged it, also before its event', async () => {
    const { page, held } = await meet()
    const shown = await watchThumb(page)
    await page.evaluate('closeEvents()')
    await thumb(page).click()
    await expect.poll(() => held.length).toBe(1)
    await answer(page, held[0]!)
    await thumb(page).click()
    await expect.poll(() => held.length).toBe(2)
    await held[1]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await page.evaluate('openEvents()')
    await expect.poll(shown).toEqual(['👍 1', '👍 2 mine', '👍 1', '👍 2 mine'])
  })

  test('of several presses on a reaction the last one counts, with one request at a time and no needless one', async () => {
    const { fay, page, held, methods, reactions } = await meet()
    await thumb(page).dblclick()
    await expect.poll(methods).toEqual(['POST'])
    expect(await thumb(page).getAttribute('aria-pressed')).toBe('false')
    await answer(page, held[0]!)
    await expect.poll(methods).toEqual(['POST', 'DELETE'])
    await thumb(page).dblclick()
    expect(await thumb(page).textContent()).toBe('👍 1')
    await answer(page, held[1]!)
    expect(methods()).toEqual(['POST', 'DELETE'])
    expect((await reactions())['👍']).not.toContain(fay.id)
    expect(await thumb(page).getAttribute('aria-pressed')).toBe('false')

    await thumb(page).click({ clickCount: 3 })
    await expect.poll(methods).toEqual(['POST', 'DELETE', 'POST'])
    await answer(page, held[2]!)
    expect(methods()).toEqual(['POST', 'DELETE', 'POST'])
    expect((await reactions())['👍']).toContain(fay.id)
    expect(await thumb(page).textContent()).toBe('👍 2')
  })

  test.each([
    { name: 'Pin', opposite: 'Unpin', notice: 'Message pinned' },
    { name: 'Save message', opposite: 'Remove from saved', notice: 'Message saved' },
  ])('“$name” is confirmed at once, and taken back when the server refuses it', async ({ name, opposite, notice }) => {
    const { page, held } = await meet()
    const message = article(page, 'land ahoy')
    const items = async () => {
      await message.getByRole('button', { name: 'More actions' }).click()
      const names = await page.getByRole('menuitem').allTextContents()
      await page.keyboard.press('Escape')
      return names
    }
    await act(page, 'land ahoy', name)
    await page.getByText(notice).waitFor()
    expect(await items()).toContain(opposite)
    await expect.poll(() => held.length).toBe(1)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await page.getByText(notice).waitFor({ state: 'detached' })
    await message.hover()
    expect(await items()).toContain(name)
  })

  test('the button to join a channel shows that it waits, and a second press sends nothing', async () => {
    const { channel, page, held } = await meet({ isMember: false })
    const join = page.getByRole('button', { name: 'Join channel' })
    const line = () => join.evaluate((button) => getComputedStyle(button, '::before').visibility)
    await join.press('Enter')
    await expect.poll(() => join.getAttribute('aria-busy')).toBe('true')
    await expect.poll(line).toBe('visible')
    await join.press('Enter')
    await untilDrawn(page)
    expect(held.length).toBe(1)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    expect(await join.getAttribute('aria-busy')).toBe(null)
    await join.press('Enter')
    await expect.poll(() => held.length).toBe(2)
    await held[1]!.continue()
    await composer(page, channel.name).waitFor()
    await join.waitFor({ state: 'detached' })
  })

  test('a saved message disappears from the list at once, and comes back when the server refuses it', async () => {
    const { eve, fay, channel, page, held } = await meet()
    const { id } = await eve.says('keep a lookout', channel)
    await fay.put(`/messages/${id}/saved`, { isSaved: true })
    await page.goto(`${site.baseUrl}/saved`)
    const saved = article(page, 'keep a lookout')
    const remove = page.getByRole('button', { name: 'Remove from saved' })
    await remove.click()
    await saved.waitFor({ state: 'detached' })
    await page.getByText('No saved messages yet').waitFor()
    await expect.poll(() => held.length).toBe(1)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await page.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await saved.waitFor()
    await remove.press('Enter')
    await expect.poll(() => held.length).toBe(2)
    await answer(page, held[1]!)
    await saved.waitFor({ state: 'detached' })
    expect((await fay.get('/saved')).body.messages).toEqual([])
  })

  test('a message that is unpinned in the dialog of pinned messages disappears at once, and comes back after a refusal', async () => {
    const { eve, fay, channel, page, held } = await meet()
    for (const text of ['mind the rocks', 'mind the gap'])
      await eve.post(`/messages/${(await eve.says(text, channel)).id}/pin`)
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pinned messages' })
    const pinned = dialog.getByRole('article')
    const unpin = dialog.getByRole('button', { name: 'Unpin' })
    await pinned.first().filter({ hasText: 'mind the gap' }).waitFor()
    await unpin.first().press('Enter')
    await expect.poll(() => pinned.count()).toBe(1)
    await hasFocus(dialog.getByRole('button', { name: 'Close' }))
    await expect.poll(() => held.length).toBe(1)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await dialog.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await pinned.first().filter({ hasText: 'mind the gap' }).waitFor()
    await isAccessible(page)
    for (const [index, left] of [1, 0].entries()) {
      await unpin.first().click()
      await expect.poll(() => pinned.count()).toBe(left)
      await expect.poll(() => held.length).toBe(index + 2)
      await answer(page, held[index + 1]!)
    }
    await dialog.getByText('Nothing is pinned').waitFor()
    expect((await fay.get(`/channels/${channel.id}/pins`)).body.messages).toEqual([])
  })

  test('the question before a private channel is left waits for the response', async () => {
    const { channel, page, held } = await meet({ isPrivate: true })
    const question = page.getByRole('dialog', { name: 'Leave channel' })
    const leave = question.getByRole('button', { name: 'Leave', exact: true })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await page.getByRole('button', { name: 'Leave channel' }).click()
    await leave.press('Enter')
    await expect.poll(() => leave.getAttribute('aria-busy')).toBe('true')
    await leave.press('Enter')
    await untilDrawn(page)
    expect(held.length).toBe(1)
    await held[0]!.fulfill({ status: 403, json: { error: 'Not today', code: 'forbidden' } })
    await question.getByRole('alert').filter({ hasText: 'Not today' }).waitFor()
    await leave.press('Enter')
    await expect.poll(() => held.length).toBe(2)
    await held[1]!.continue()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: channel.name }).waitFor({ state: 'detached' })
  })
}
