import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, channelIdOf, createChannel, hasFocus, isAccessible, main, say } from './visitors.ts'

/** What a person gets at an address of the page, and with which requests. */
export function addressJourneys(site: Site) {
  const { signIn } = site
  let eve: Person

  beforeAll(async () => {
    eve = await Person.signIn(site.baseUrl, 'eve@example.com')
  })

  test('a first view needs at most eight requests until it has the messages', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'ballast')
    await say(ann, 'ballast', 'well stowed')
    const cookies = await ann.context().cookies()
    // As in a browser that has only the session.
    const context = await ann
      .context()
      .browser()!
      .newContext({ storageState: { cookies, origins: [] } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(ann.url())
    await article(page, 'well stowed').waitFor()
    const until = asked.findIndex((path) => /^\/channels\/.+\/messages$/.test(path))
    expect(until).toBeGreaterThan(0)
    expect(asked.slice(0, until + 1).length, asked.join()).toBeLessThanOrEqual(8)
  })

  test('a first visit has no failing request', async () => {
    const page = await site.openPage()
    await page.getByRole('textbox', { name: 'Email' }).waitFor()
    const failed: string[] = []
    page.on('response', (response) => response.status() >= 400 && failed.push(response.url()))
    await page.reload()
    await page.getByRole('textbox', { name: 'Email' }).waitFor()
    expect(failed).toEqual([])
  })

  test('addresses lead to a message, to a reply in its thread, and to an error when it does not exist', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'mast')
    const mast = { id: channelIdOf(ann) }
    const old = await eve.says('the oldest', mast)
    for (let n = 1; n <= 120; n++) await eve.says(`later ${n}`, mast)
    const { body } = await eve.post(`/messages/${old.id}/thread`, { content: 'an answer' })
    await ann.goto(`${site.baseUrl}/c/${mast.id}/m/${old.id}`)
    await hasFocus(article(ann, 'the oldest'))
    await ann.getByRole('button', { name: 'Jump to newest' }).click()
    await article(ann, 'later 120').waitFor()
    expect(new URL(ann.url()).pathname).toBe(`/c/${mast.id}`)

    await ann.goto(`${site.baseUrl}/c/${mast.id}/m/${body.reply.id}`)
    const thread = ann.getByRole('complementary', { name: 'Thread' })
    await hasFocus(thread.getByRole('article').filter({ hasText: 'an answer' }))
    await thread.getByRole('button', { name: 'Close', exact: true }).click()
    await thread.waitFor({ state: 'detached' })
    await ann.goto(`${site.baseUrl}/c/${mast.id}/t/${old.id}`)
    await thread.getByText('an answer').waitFor()
    await hasFocus(thread.getByRole('textbox', { name: 'Reply' }))
    await ann.keyboard.press('Escape')
    await hasFocus(main(ann).getByRole('textbox', { name: /^Message/ }))
    await ann.goto(`${site.baseUrl}/c/nowhere`)
    await ann.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
  })

  test('an address without a page says so, and an incomplete one leads to its page', async () => {
    const page = await site.openPage('/nothing/here')
    const heading = page.getByRole('heading', { level: 1, name: 'There is no such page' })
    await heading.waitFor()
    expect(await page.title()).toBe('There is no such page – Parley')
    await isAccessible(page)
    await page.getByRole('link', { name: 'Back to Parley' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()

    const malformed = await site.openPage('/c/%')
    await malformed.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()

    const ann = await signIn('ann', '/profile/')
    await ann.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
    expect(new URL(ann.url()).pathname).toBe('/profile')
    // The service worker has the page by now, and must not send it for this address.
    await ann.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
    await ann.goto(`${site.baseUrl}/nowhere`)
    await ann.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
    await ann.getByRole('link', { name: 'Back to Parley' }).click()
    await ann.getByRole('button', { name: 'Account' }).waitFor()
    await expect.poll(() => ann.title()).not.toContain('There is no such page')
  })

  test('an unknown address below one of the API has the response of the API for every client', async () => {
    const addresses = ['/docs/x', '/channels/', '/auth/x', '/files/', '/health/x', '/scim/v2/x', '/slack/x', '/hooks/x']
    for (const address of addresses) {
      const [toBrowser, toProgram] = await Promise.all(
        ['text/html', 'application/json'].map(async (accept) => {
          const { status, headers } = await fetch(site.baseUrl + address, { headers: { accept } })
          return [status, headers.get('content-type')]
        }),
      )
      expect([address, toBrowser]).toEqual([address, toProgram])
      expect(toBrowser![1]).toContain('json')
    }
  })
}
