import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { endOf } from './measures.ts'
import { fingerOn, narrowest, phone } from './phones.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import { article, hasFocus, isAccessible, showIn } from './visitors.ts'

/** Sends a message with three images: `bow.png`, `mast.png` and `stern.png`. */
async function sendsShip(person: Person, channel: { id: string }, content: string) {
  const images: string[] = []
  for (const name of ['bow.png', 'mast.png', 'stern.png'])
    images.push(await person.uploadsImage(`/channels/${channel.id}/messages`, name, png(60, 40, [54, 81, 201])))
  await person.sends(channel, { content, images })
}

/** The viewer that shows the images of a message. */
export function imageViewerJourneys(site: Site) {
  const { signIn } = site

  test.each([
    { language: 'en', keys: ['ArrowRight', 'ArrowLeft'], names: ['Next image', 'Previous image'] },
    { language: 'ar', keys: ['ArrowLeft', 'ArrowRight'], names: ['الصورة التالية', 'الصورة السابقة'] },
  ])('the viewer shows the images of a message one after the other: $language', async ({ language, keys, names }) => {
    const [forwards, backwards] = keys as [string, string]
    const [next, previous] = names as [string, string]
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `gallery ${language}` })
    await sendsShip(eve, channel, 'the new ship')
    const page = await signIn('nico', `/c/${channel.id}`)
    await showIn(page, language)
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
    await hasFocus(button('mast.png'))
  })

  test.each([
    { language: 'en', forwards: -1 },
    { language: 'ar', forwards: 1 },
  ])('a swipe goes to the next or the previous image: $language', async ({ language, forwards }) => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: `swipes ${language}` })
    await sendsShip(eve, channel, 'the old ship')
    const page = await signIn('nico', `/c/${channel.id}`, phone)
    await showIn(page, language)
    await article(page, 'the old ship').getByRole('button', { name: 'mast.png' }).tap()
    const shown = (name: string) => page.getByRole('dialog', { name }).getByRole('img', { name }).waitFor()
    await shown('mast.png')
    const touch = await fingerOn(page)
    const swipe = async (x: number, y: number) => {
      await touch('touchStart', { x: 195, y: 400 })
      for (const part of [0.25, 0.5, 0.75, 1]) await touch('touchMove', { x: 195 + part * x, y: 400 + part * y })
      await touch('touchEnd')
    }
    await swipe(forwards * 120, 20)
    await shown('stern.png')
    // A vertical one and a short one go nowhere.
    await swipe(60, 200)
    await swipe(20, 0)
    await swipe(forwards * -120, 20)
    await shown('mast.png')
  })

  test('the viewer of images shows its buttons below an image with a long name, and on the narrowest phone', async () => {
    const pia = await Person.signIn(site.baseUrl, 'pia@example.com')
    const channel = await pia.creates({ name: 'long exposure' })
    const place = `/channels/${channel.id}/messages`
    const names = [`${'photograph-'.repeat(8)}1.png`, 'tall.png']
    const images: string[] = []
    for (const name of names)
      images.push(await pia.uploadsImage(place, name, png(40, name === 'tall.png' ? 900 : 60, [9, 81, 201])))
    await pia.sends(channel, { content: 'from the harbour', images })
    const page = await signIn('pia', `/c/${channel.id}`, phone)
    await article(page, 'from the harbour').getByRole('img').first().tap()
    const viewer = page.getByRole('dialog')
    const download = viewer.getByRole('link', { name: 'Download' })
    const next = viewer.getByRole('button', { name: 'Next image' })
    await download.waitFor()
    await expect.poll(async () => (await endOf(download)) <= (await endOf(viewer))).toBe(true)
    await next.tap()
    await viewer.getByRole('img', { name: 'tall.png' }).waitFor()
    await page.setViewportSize(narrowest.viewport)
    const lines = (element: Locator) =>
      element.evaluate((node) => {
        const text = document.createRange()
        text.selectNodeContents(node)
        return new Set([...text.getClientRects()].map(({ top }) => Math.round(top))).size
      })
    expect(await lines(download)).toBe(1)
    expect(await endOf(viewer.getByRole('img'))).toBeLessThanOrEqual((await next.boundingBox())!.y)
  })

  test('an image has most of the screen of a phone, also of one that lies on its side', async () => {
    const kjell = await Person.signIn(site.baseUrl, 'kjell@example.com')
    const channel = await kjell.creates({ name: 'panoramas' })
    const place = `/channels/${channel.id}/messages`
    const images = [await kjell.uploadsImage(place, 'coast.png', png(1600, 900, [9, 81, 201]))]
    await kjell.sends(channel, { content: 'from the coast', images })
    const page = await signIn('kjell', `/c/${channel.id}`, phone)
    await article(page, 'from the coast').getByRole('img').tap()
    const viewer = page.getByRole('dialog', { name: 'coast.png' })
    const image = viewer.getByRole('img')
    await image.waitFor()
    const { width, height } = phone.viewport
    expect((await image.boundingBox())!.width).toBeGreaterThan(0.9 * width)
    await page.setViewportSize({ width: height, height: width })
    expect((await image.boundingBox())!.height).toBeGreaterThan(0.65 * width)
    expect(await endOf(viewer.getByRole('link', { name: 'Download' }))).toBeLessThanOrEqual(width)
    await viewer.getByRole('button', { name: 'Close' }).tap()
    await viewer.waitFor({ state: 'detached' })
  })
}
