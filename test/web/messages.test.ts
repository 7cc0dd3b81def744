import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { imageViewerJourneys } from './image-viewer-journeys.ts'
import { longMessageJourneys } from './long-message-journeys.ts'
import { messageTextJourneys } from './message-text-journeys.ts'
import { describeSite } from './site.ts'
import { act, article, channelIdOf, createChannel, isAccessible, say } from './visitors.ts'

/** What people do with a message that they read. The tests in this file are about its buttons and its menu. */
describeSite('messages in the web client', {}, (site) => {
  const { signIn } = site
  messageTextJourneys(site)
  longMessageJourneys(site)
  imageViewerJourneys(site)

  test('Edit and Delete are in the menu of a message, where nobody clicks them by mistake', async () => {
    const lars = await signIn('lars')
    await createChannel(lars, 'capstan')
    const id = channelIdOf(lars)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    await say(lars, 'capstan', 'heave')
    await eve.says('ho', { id })
    const menuOf = async (text: string) => {
      const message = article(lars, text)
      await message.hover()
      await message.getByRole('button', { name: 'More actions' }).click()
      await lars.getByRole('menu').waitFor()
      const items = await lars.getByRole('menuitem').allTextContents()
      await isAccessible(lars)
      const open = await message.getByRole('button', { name: /^(React|Reply in thread|Quote|Edit|Delete)$/ }).count()
      await lars.keyboard.press('Escape')
      return { items, open }
    }
    const items = ['Copy text', 'Copy link', 'Save message', 'Pin']
    expect(await menuOf('heave')).toEqual({ items: ['Edit', ...items, 'Delete'], open: 3 })
    expect(await menuOf('ho')).toEqual({ items: ['Mark as unread', ...items], open: 3 })
  })

  test('a person with a keyboard gets the focus on "Undo", which stays while it has the focus or the pointer, but not for ever', async () => {
    const zita = await signIn('zita', '/', { withoutWorker: true })
    await createChannel(zita, 'fender')
    for (const text of ['all lines off', 'fenders in']) await say(zita, 'fender', text)
    const message = article(zita, 'all lines off')
    await message.getByRole('link').waitFor({ state: 'attached' })
    await zita.clock.install()
    const undo = zita.getByRole('button', { name: 'Undo' })
    const confirm = zita.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' })
    const isFocused = (locator: Locator) =>
      expect.poll(() => locator.evaluate((element) => element === document.activeElement)).toBe(true)
    const deleteByKey = async () => {
      await message.focus()
      await message.getByRole('button', { name: 'More actions' }).press('Enter')
      await zita.getByRole('menuitem', { name: 'Delete' }).press('Enter')
      await confirm.press('Enter')
      await message.waitFor({ state: 'detached' })
    }
    await deleteByKey()
    await isFocused(undo)
    await zita.clock.runFor(6_000)
    await undo.press('Enter')
    await message.waitFor()
    await isFocused(article(zita, 'fenders in'))

    await act(zita, 'all lines off', 'Delete')
    await confirm.click()
    await undo.hover()
    await zita.clock.runFor(6_000)
    await undo.click()
    await message.waitFor()

    const deleted = () => zita.waitForResponse((response) => response.request().method() === 'DELETE')
    await deleteByKey()
    await isFocused(undo)
    const [first] = await Promise.all([deleted(), undo.press('Escape')])
    expect(first.ok()).toBe(true)
    await isFocused(article(zita, 'fenders in'))
    await say(zita, 'fender', 'all lines off')
    await message.getByRole('link').waitFor({ state: 'attached' })
    await deleteByKey()
    await isFocused(undo)
    await zita.mouse.move(0, 0)
    const [second] = await Promise.all([deleted(), zita.clock.runFor(60_000)])
    expect(second.ok()).toBe(true)
    await isFocused(article(zita, 'fenders in'))
  })

  test('a deletion is sent when the page is hidden, because a phone may end a hidden page without an event', async () => {
    const yves = await signIn('yves', '/', { withoutWorker: true })
    await createChannel(yves, 'painter')
    await say(yves, 'painter', 'cast off')
    await act(yves, 'cast off', 'Delete')
    await yves.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' }).click()
    // While the pointer is there, the deletion waits.
    await yves.getByRole('button', { name: 'Undo' }).hover()
    const deleted = yves.waitForResponse((response) => response.request().method() === 'DELETE')
    await yves.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    expect((await deleted).ok()).toBe(true)
  })

  test('a button after the reactions of a message adds another one, by keyboard and in search results', async () => {
    const mona = await signIn('mona')
    await createChannel(mona, 'windlass')
    const id = channelIdOf(mona)
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const { id: messageId } = await eve.says('anchor aweigh', { id })
    const message = article(mona, 'anchor aweigh')
    await message.waitFor()
    const another = { name: 'Respond with another emoji' }
    expect(await message.getByRole('button', another).count()).toBe(0)
    await eve.post(`/messages/${messageId}/reactions`, { reaction: '⚓' })
    await message.getByRole('button', { name: '⚓ 1' }).focus()
    await mona.keyboard.press('Tab')
    await mona.keyboard.press('Enter')
    await mona.getByRole('searchbox', { name: 'Search emoji' }).fill('tada')
    await mona.keyboard.press('Enter')
    await message.getByRole('button', { name: '🎉 1', pressed: true }).waitFor()
    const hasFocus = (button: Element) => button === document.activeElement
    await expect.poll(() => message.getByRole('button', another).evaluate(hasFocus)).toBe(true)

    await mona.getByRole('searchbox', { name: 'Search', exact: true }).fill('anchor aweigh')
    await mona.keyboard.press('Enter')
    const found = mona.getByRole('region', { name: 'Search results' }).getByRole('article')
    await found.getByRole('button', another).click()
    await mona.getByRole('searchbox', { name: 'Search emoji' }).fill('sailboat')
    await mona.keyboard.press('Enter')
    await found.getByRole('button', { name: /^⛵.* 1$/, pressed: true }).waitFor()
  })
})
