import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, isAccessible } from './visitors.ts'

/** The messages that a person saves for later. */
export function savedJourneys(site: Site) {
  const person = (name: string) => Person.signIn(site.baseUrl, `${name}@example.com`)
  const list = (page: Page) => page.getByRole('region', { name: 'Saved messages' })
  const saved = (page: Page) => list(page).getByRole('article')

  test('messages and replies are saved from their menu, listed on all devices, and removed again', async () => {
    const [vera, yuri] = [await person('vera'), await person('yuri')]
    const channel = await yuri.creates({ name: 'chart table' })
    const parent = await yuri.says('the tide tables', channel)
    const { reply } = (await yuri.post(`/messages/${parent.id}/thread`, { content: 'a newer edition' })).body
    const [desk, phone] = [await site.signIn('vera'), await site.signIn('vera')]
    await phone.getByRole('link', { name: 'Saved messages' }).click()
    await phone.getByRole('heading', { level: 1, name: 'Saved messages' }).waitFor()
    await list(phone).getByText('No saved messages yet').waitFor()
    await isAccessible(phone)

    await desk.goto(`${site.baseUrl}/c/${channel.id}`)
    await act(desk, 'the tide tables', 'Save message')
    await desk.getByText('Message saved').waitFor()
    const mark = article(desk, 'the tide tables').getByRole('img', { name: 'Saved' })
    await mark.waitFor()
    await article(phone, 'the tide tables').waitFor()
    await vera.put(`/messages/${reply.id}/saved`, { isSaved: true })
    await expect.poll(() => saved(phone).count()).toBe(2)
    expect(await saved(phone).first().textContent()).toContain('a newer edition')
    await list(phone).getByRole('link', { name: 'Thread' }).waitFor()
    await isAccessible(phone)

    const remove = phone.getByRole('button', { name: 'Remove from saved' })
    await remove.first().focus()
    await phone.keyboard.press('Enter')
    await expect.poll(() => saved(phone).count()).toBe(1)
    await expect.poll(() => phone.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY')
    // A channel that is opened later has the mark of what was saved before, and the menu knows it.
    await desk.reload()
    await mark.waitFor()
    await isAccessible(desk)
    await act(desk, 'the tide tables', 'Remove from saved')
    await mark.waitFor({ state: 'detached' })
    await list(phone).getByText('No saved messages yet').waitFor()
    expect((await vera.get('/saved')).body.messages).toEqual([])

    // The mark follows what happens on other devices.
    await vera.put(`/messages/${parent.id}/saved`, { isSaved: true })
    await mark.waitFor()
    await vera.put(`/messages/${parent.id}/saved`, { isSaved: false })
    await mark.waitFor({ state: 'detached' })
  })

  test('the list follows what happens to its messages, and forgets a channel that was lost', async () => {
    const [zoe, yuri] = [await person('zoe'), await person('yuri')]
    const channel = await yuri.creates({ name: 'sealed orders', isPrivate: true, members: [zoe.id] })
    const messages = [await yuri.says('open at sea', channel), await yuri.says('burn this', channel)]
    for (const { id } of messages) await zoe.put(`/messages/${id}/saved`, { isSaved: true })
    const page = await site.signIn('zoe', '/saved')
    await article(page, 'burn this').waitFor()
    await yuri.delete(`/messages/${messages[1]!.id}`)
    await expect.poll(() => saved(page).count()).toBe(1)
    await yuri.put(`/messages/${messages[0]!.id}`, { content: 'open on Tuesday' })
    await article(page, 'open on Tuesday').waitFor()
    await yuri.put(`/channels/${channel.id}`, { removeMembers: [zoe.id] })
    await list(page).getByText('No saved messages yet').waitFor()
    await yuri.put(`/channels/${channel.id}`, { addMembers: [zoe.id] })
    await article(page, 'open on Tuesday').waitFor()
  })

  test('a person with a keyboard removes one message after the other from the place where they are', async () => {
    const [ines, yuri] = [await person('ines'), await person('yuri')]
    const channel = await yuri.creates({ name: 'ballast' })
    for (const content of ['stone', 'sand', 'iron']) {
      await ines.put(`/messages/${(await yuri.says(content, channel)).id}/saved`, { isSaved: true })
    }
    const page = await site.signIn('ines', '/saved')
    await article(page, 'sand').waitFor()
    const focused = () => page.evaluate(`document.activeElement.closest('.found')?.textContent ?? 'no message'`)
    await page.getByRole('button', { name: 'Remove from saved' }).nth(1).press('Enter')
    await article(page, 'sand').waitFor({ state: 'detached' })
    await expect.poll(focused).toContain('iron')
  })

  test('the button does not narrow a message, whatever space the name of its channel leaves', async () => {
    const [olga, yuri] = [await person('olga'), await person('yuri')]
    const lengths = [60, 64, 68, 72, 76, 80]
    for (const length of lengths) {
      const { id } = await yuri.says('a hull without water', await yuri.creates({ name: 'w'.repeat(length) }))
      await olga.put(`/messages/${id}/saved`, { isSaved: true })
    }
    const page = await site.signIn('olga', '/saved', { viewport: { width: 320, height: 640 } })
    await expect.poll(() => saved(page).count()).toBe(lengths.length)
    const overlaps = await page.evaluate(() =>
      [...document.querySelectorAll('.found')].map((found) => {
        const boxOf = (element: string) => found.querySelector(element)!.getBoundingClientRect()
        return Math.round(boxOf('button').bottom - boxOf('article').top)
      }),
    )
    expect(overlaps).toEqual(lengths.map(() => 0))
  })

  test('the focus stays on an item of the menu of a message while the menu changes', async () => {
    const [ines, yuri] = [await person('ines'), await person('yuri')]
    const channel = await yuri.creates({ name: 'manifest' })
    await ines.post(`/channels/${channel.id}/join`)
    const attachments = [await yuri.uploads('cargo.txt', 'barrels')]
    const message = await yuri.sends(channel, { content: 'what we carry', attachments })
    const page = await site.signIn('ines', `/c/${channel.id}`)
    await article(page, 'cargo.txt').focus()
    await article(page, 'cargo.txt').getByRole('button', { name: 'More actions' }).press('Enter')
    const items = () => page.getByRole('menuitem').allTextContents()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await page.getByRole('menuitem', { name: 'Save message' }).focus()
    await yuri.put(`/messages/${message.id}`, { content: '' })
    await expect.poll(items).not.toContain('Copy text')
    expect(await focused()).toBe('Save message')
    await yuri.post(`/messages/${message.id}/pin`)
    await expect.poll(items).toContain('Unpin')
    expect(await focused()).toBe('Save message')
  })
}
