import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { describeSite } from './site.ts'
import { article, createChannel, isAccessible, say } from './visitors.ts'

/** What people do with a message that they read: its menu, reactions, images, code, and very long texts. */
describeSite('messages in the web client', {}, (site) => {
  const { signIn } = site

  test('Edit and Delete are in the menu of a message, where nobody clicks them by mistake', async () => {
    const lars = await signIn('lars')
    await createChannel(lars, 'capstan')
    const [, id] = /\/c\/([^/]+)/.exec(lars.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    await say(lars, 'capstan', 'heave')
    await eve.says('ho', { id: id! })
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
    expect(await menuOf('heave')).toEqual({ items: ['Edit', 'Copy text', 'Copy link', 'Pin', 'Delete'], open: 3 })
    expect(await menuOf('ho')).toEqual({ items: ['Mark as unread', 'Copy text', 'Copy link', 'Pin'], open: 3 })
  })

  test('a button after the reactions of a message adds another one, by keyboard and in search results', async () => {
    const mona = await signIn('mona')
    await createChannel(mona, 'windlass')
    const [, id] = /\/c\/([^/]+)/.exec(mona.url())!
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    await eve.post(`/channels/${id}/join`)
    const { id: messageId } = await eve.says('anchor aweigh', { id: id! })
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

  test.each([
    { language: 'en', keys: ['ArrowRight', 'ArrowLeft'], names: ['Next image', 'Previous image'] },
    { language: 'ar', keys: ['ArrowLeft', 'ArrowRight'], names: ['الصورة التالية', 'الصورة السابقة'] },
  ])('the viewer shows the images of a message one after the other: $language', async ({ language, keys, names }) => {
    const [forwards, backwards] = keys as [string, string]
    const [next, previous] = names as [string, string]
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `gallery ${language}` })
    const place = `/channels/${channel.id}/messages`
    const images: string[] = []
    for (const name of ['bow.png', 'mast.png', 'stern.png'])
      images.push(await eve.uploadsImage(place, name, png(60, 40, [54, 81, 201])))
    await eve.sends(channel, { content: 'the new ship', images })
    const page = await signIn('nico', `/c/${channel.id}`)
    await page.evaluate((chosen) => localStorage.setItem('parley.preferences', `{"language":"${chosen}"}`), language)
    await page.reload()
    const button = (name: string) => article(page, 'the new ship').getByRole('button', { name })
    await button('mast.png').click()
    const viewer = (name: string) => page.getByRole('dialog', { name })
    const count = (number: number) => page.getByRole('dialog').getByText(new RegExp(`${number}\\D+3$`))
    await viewer('mast.png').getByRole('img', { name: 'mast.png' }).waitFor()
    await count(2).waitFor()
    await isAccessible(page)
    await page.keyboard.press(forwards)
    await viewer('stern.png').getByRole('img', { name: 'stern.png' }).waitFor()
    await count(3).waitFor()
    await page.keyboard.press(backwards)
    await count(2).waitFor()
    const press = (name: string) => page.getByRole('button', { name }).click()
    await press(previous)
    await viewer('bow.png').waitFor()
    // Before the first one is the last one.
    await press(previous)
    await viewer('stern.png').waitFor()
    await press(next)
    await viewer('bow.png').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => button('mast.png').evaluate((element) => element === document.activeElement)).toBe(true)
  })
})
