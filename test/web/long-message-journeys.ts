import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, composer, createChannel, hasFocus, isAccessible, openChannel, say } from './visitors.ts'

/** Long messages, of which only the beginning is rendered. */
export function longMessageJourneys(site: Site) {
  const { signIn } = site

  test('only the beginning of a very long message is rendered until it is expanded', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'long log' })
    const lines = Array.from({ length: 2_000 }, (_, n) => `l${n + 1}`)
    const code = lines.join('\n')
    for (let n = 1; n <= 20; n++) await eve.says(`entry ${n}.`, channel)
    const end = `${'and so on\n'.repeat(80)}the last line`
    const long = await eve.says(`the long one\n\`\`\`\n${code}\n\`\`\`\n${end}`, channel)
    const pat = await signIn('pat', `/c/${channel.id}`, { permissions: ['clipboard-read', 'clipboard-write'] })
    const message = article(pat, 'the long one')
    const expand = message.getByRole('button', { name: 'Show more', expanded: false })
    await expand.waitFor()
    const isShown = (text: string) => message.getByText(text).isVisible()
    const shownLines = async () => (await message.locator('pre').textContent())!.split('\n').length
    expect(await isShown('the last line')).toBe(false)
    expect(await shownLines()).toBeLessThan(60)
    const copy = message.getByRole('button', { name: 'Copy', exact: true })
    await Promise.all([message.getByRole('button', { name: 'Copied' }).waitFor(), copy.click()])
    expect(await pat.evaluate(() => navigator.clipboard.readText())).toBe(code)

    // The reader stays at the beginning of the message, although the list was at its end.
    const top = async () => (await message.boundingBox())!.y
    const before = await top()
    await expand.press('Enter')
    await message.getByRole('button', { name: 'Show less', expanded: true }).waitFor()
    expect(await isShown('the last line')).toBe(true)
    expect(await shownLines()).toBe(2_000)
    await expect.poll(async () => Math.abs((await top()) - before)).toBeLessThanOrEqual(1)
    await isAccessible(pat)
    await eve.says('short again', channel)
    // The message itself is out of sight, so it is not rendered. It is announced.
    await pat.getByText('eve: short again').waitFor({ state: 'attached' })
    expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1)

    await openChannel(pat, 'General')
    await pat.goto(`${site.baseUrl}/c/${channel.id}/m/${long.id}`)
    await hasFocus(message)
    await expand.click()
    await message.getByRole('button', { name: 'Show less' }).click()
    await expand.waitFor()
    // The search of the browser expands it.
    await message.locator('[hidden]').dispatchEvent('beforematch', { bubbles: true })
    await message.getByRole('button', { name: 'Show less' }).waitFor()

    await act(pat, 'the long one', 'Quote')
    await composer(pat, 'long log').fill('what is this?')
    await composer(pat, 'long log').press('Enter')
    await article(pat, 'what is this?').getByRole('blockquote').getByText('the long one').waitFor()
    expect((await article(pat, 'what is this?').getByRole('blockquote').textContent())!.length).toBeLessThan(3_000)

    const field = pat.getByRole('searchbox', { name: 'Search', exact: true })
    await field.fill('the last line')
    await field.press('Enter')
    const results = pat.getByRole('region', { name: 'Search results' })
    await results.getByText('the last line').waitFor()
  })

  test('a long message is edited as a whole, and its sent and unsent versions have the same height', async () => {
    const rita = await signIn('rita')
    await createChannel(rita, 'manifest')
    const text = `cargo list\n${Array.from({ length: 150 }, (_, n) => `crate ${n + 1}`).join('\n')}`
    await say(rita, 'manifest', text, 'cargo list')
    await article(rita, 'cargo list').getByRole('link').waitFor({ state: 'attached' })
    await article(rita, 'cargo list').getByRole('button', { name: 'Show more' }).waitFor()
    await composer(rita, 'manifest').press('ArrowUp')
    const edited = rita.getByRole('textbox', { name: 'Edit message' })
    expect(await edited.inputValue()).toBe(text)
    await edited.fill('cargo list, shorter')
    await edited.press('Enter')
    await article(rita, 'cargo list, shorter').waitFor()
    expect(await article(rita, 'cargo list').getByRole('button', { name: 'Show more' }).count()).toBe(0)
  })
}
