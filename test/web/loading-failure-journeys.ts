import { randomUUID } from 'node:crypto'
import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import { connectsAtOnce, createFailing, unavailable } from './failing.ts'
import { png } from './pictures.ts'
import type { Site } from './site.ts'
import { article, isAccessible, openChannel } from './visitors.ts'

async function showsFace(person: Person) {
  await person.put('/users/me/avatar', { image: png(64, 64, [20, 60, 90]).toString('base64') })
  const avatar = async () => (await person.get(`/users?ids=${person.id}`)).body.users[0].avatarVersion
  await expect.poll(avatar).not.toBeNull()
}

/** What the page loads later, when it could not be loaded at first. */
export function loadingFailureJourneys(site: Site) {
  const { signInUnaided, meet } = createFailing(site)

  test('avatars, channel names and emoji that could not be fetched are loaded after an outage', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
    const other = await eve.creates({ name: `berth ${randomUUID().slice(0, 8)}` })
    await eve.says(`look at #${other.name} :tada:`, channel)
    const page = await signInUnaided('ann')
    const asked = { avatar: 0, channel: 0, emoji: 0 }
    const refuse = (what: keyof typeof asked, pattern: string) =>
      page.route(pattern, (route) => {
        asked[what]++
        return unavailable(route)
      })
    await refuse('avatar', '**/users/*/avatar/**')
    await refuse('channel', '**/channels?q=berth*')
    await refuse('emoji', '**/assets/loaded-list-*.js')
    await page.goto(site.baseUrl + address)
    const message = article(page, 'look at')
    await message.waitFor()
    await expect.poll(() => Object.values(asked)).not.toContain(0)
    expect(await message.locator('.avatar img, .text a').count()).toBe(0)
    await site.installation.killEverything()
    const status = page.getByRole('status').filter({ hasText: 'Reconnecting…' })
    await status.waitFor()
    // The page does not retry all the time, but after an occasion such as a lost connection.
    expect(Math.max(...Object.values(asked))).toBeLessThan(10)
    await page.unrouteAll()
    await site.installation.start()
    await connectsAtOnce(page)
    await status.waitFor({ state: 'detached' })
    await message.locator('.avatar img').waitFor()
    await message.getByRole('link', { name: `#${other.name}` }).waitFor()
    await message.getByText('🎉').waitFor()
  })

  test('avatars, channel names and emoji that were refused for some time are loaded automatically', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
    const other = await eve.creates({ name: `slip ${randomUUID().slice(0, 8)}` })
    await eve.says(`go to #${other.name} :anchor:`, channel)
    const page = await signInUnaided('ann')
    const asked = new Set<string>()
    for (const pattern of ['**/users/*/avatar/**', '**/channels?q=slip*', '**/assets/loaded-list-*.js']) {
      await page.route(pattern, (route) => {
        asked.add(pattern)
        return unavailable(route)
      })
    }
    await page.goto(site.baseUrl + address)
    const message = article(page, 'go to')
    await expect.poll(() => asked.size).toBe(3)
    await page.unrouteAll()
    await message.locator('.avatar img').waitFor()
    await message.getByRole('link', { name: `#${other.name}` }).waitFor()
    await message.getByText('⚓').waitFor()
  })

  test('an image that was refused for some time is loaded automatically', async () => {
    const { eve, channel, address } = await meet()
    const place = `/channels/${channel.id}/messages`
    const images = [await eve.uploadsImage(place, 'chart.png', png(300, 200, [40, 90, 160]))]
    await eve.sends(channel, { content: 'the chart', images })
    const page = await signInUnaided('ann')
    const refused = Promise.withResolvers<void>()
    await page.route('**/messages/image/**', async (route) => {
      await unavailable(route)
      refused.resolve()
    })
    await page.goto(site.baseUrl + address)
    await refused.promise
    await page.unrouteAll()
    await article(page, 'the chart').locator('img[src^="blob:"]').first().waitFor()
  })

  test('an image that is late or cannot be shown has its name in its place, and can be downloaded', async () => {
    const { eve, channel, address } = await meet()
    const place = `/channels/${channel.id}/messages`
    const images: string[] = []
    for (const name of ['late.png', 'damaged.png', 'refused.png'])
      images.push(await eve.uploadsImage(place, name, png(300, 200, [40, 90, 160])))
    await eve.sends(channel, { content: 'three charts', images })
    const page = await signInUnaided('ann')
    const late = Promise.withResolvers<Route>()
    await page.route('**/messages/image/*late.png*', (route) => late.resolve(route))
    await page.route('**/messages/image/*damaged.png*', (route) => route.fulfill({ body: 'no image' }))
    await page.route('**/messages/image/*refused.png*', (route) =>
      route.fulfill({ status: 404, json: { error: 'No' } }),
    )
    await page.goto(site.baseUrl + address)

    const message = article(page, 'three charts')
    const visibleName = (name: string) => message.locator('bdi').filter({ hasText: name, visible: true })
    const image = (name: string) => message.getByRole('button', { name }).getByRole('img', { name })
    await visibleName('late.png').waitFor()
    await late.promise.then((route) => route.continue())
    await expect.poll(() => image('late.png').getAttribute('src')).toMatch(/^blob:/)
    expect(await visibleName('late.png').count()).toBe(0)

    for (const name of ['damaged.png', 'refused.png']) {
      await message.getByRole('button', { name: `${name} This image cannot be shown` }).waitFor()
      await visibleName(name).waitFor()
      expect(await image(name).getAttribute('src')).toBeNull()
    }
    await isAccessible(page)
    await message.getByRole('button', { name: /^damaged/ }).click()
    const viewer = page.getByRole('dialog', { name: 'damaged.png' })
    await viewer.getByText('This image cannot be shown').waitFor()
    await page.keyboard.press('Escape')
    const begun = page.waitForEvent('download')
    await message.getByRole('button', { name: 'Download damaged.png' }).click()
    expect((await begun).suggestedFilename()).toBe('damaged.png')
  })

  test('a dialog whose code could not be loaded is shown when it is opened again', async () => {
    const page = await signInUnaided('ann')
    await openChannel(page, 'General')
    const code = '**/assets/channel-settings-*.js*'
    await page.route(code, unavailable)
    const settings = page.getByRole('dialog', { name: 'Channel settings' })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await settings.getByText('This part of the page could not be loaded.').waitFor()
    await page.unroute(code)
    await page.keyboard.press('Escape')
    await settings.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Channel settings' }).click()
    await settings.getByRole('region', { name: 'Members' }).waitFor()
  })

  test('the dialog of pinned messages says that there are none only when the server has said so', async () => {
    const { eve, channel, address } = await meet()
    const { id } = await eve.says('mind the shallows', channel)
    const page = await signInUnaided('ann')
    await page.goto(site.baseUrl + address)
    await article(page, 'mind the shallows').waitFor()
    const held: Route[] = []
    await page.route('**/pins', (route) => void held.push(route))
    await page.getByRole('button', { name: 'Pinned messages' }).click()
    const pins = page.getByRole('dialog', { name: 'Pinned messages' })
    await pins.waitFor()
    await expect.poll(() => held.length).toBe(1)
    const nothing = pins.getByText('Nothing is pinned')
    expect(await nothing.count()).toBe(0)
    await held[0]!.continue()
    await nothing.waitFor()
    await eve.post(`/messages/${id}/pin`)
    await pins.getByRole('article').filter({ hasText: 'mind the shallows' }).waitFor()
  })

  test('an avatar that was refused in one session is loaded in the next one without a reload', async () => {
    const { eve, channel, address } = await meet()
    await showsFace(eve)
    await eve.says('good morning', channel)
    const page = await signInUnaided('ann')
    const asked = Promise.withResolvers<void>()
    await page.route('**/users/*/avatar/**', async (route) => {
      await route.fulfill({ status: 404, json: { error: 'There is no such picture' } })
      asked.resolve()
    })
    await page.goto(site.baseUrl + address)
    await asked.promise
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email').fill('ann@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account' }).waitFor()
    // Navigates within the page, which is not reloaded.
    await page.evaluate(`history.pushState(null, '', '${address}'); dispatchEvent(new PopStateEvent('popstate'))`)
    await article(page, 'good morning').locator('.avatar img').waitFor()
  })

  test.each([
    ['/admin/bots', 'There are no bots yet'],
    ['/admin/subscriptions', 'Create a bot first'],
    ['/admin/people', 'admin@example.com'],
    ['/admin/audit', 'export.create'],
    ['/admin/export', 'Export of'],
    ['/sessions', 'This session'],
    ['/security', 'Authenticator app'],
  ])(
    '%s shows that it waits for its data, and after a failure fetches them again with a button',
    async (address, text) => {
      const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
      await admin.post('/admin/exports')
      const page = await signInUnaided('admin')
      const held: Route[] = []
      let isDown = true
      const data = /\/(bots|subscriptions|auth\/sessions|auth\/second-factors|users\?limit=.*|admin\/audit-log\?.*)$/
      await page.route(data, async (route) => {
        if (isDown && !route.request().isNavigationRequest()) held.push(route)
        else await route.fallback()
      })
      await page.goto(site.baseUrl + address)
      const main = page.getByRole('main')
      const waiting = main.locator('section[aria-busy=true]')
      await waiting.waitFor({ state: 'attached' })
      await expect.poll(() => held.length).toBeGreaterThan(0)
      isDown = false
      await Promise.all(held.map(unavailable))
      await main.getByRole('alert').waitFor()
      expect(await waiting.count()).toBe(0)
      await main.getByRole('button', { name: 'Try again' }).click()
      await main.getByRole('alert').waitFor({ state: 'detached' })
      await main.getByText(text).first().waitFor()
    },
  )

  test('code that was rendered before the web worker was loaded is highlighted later', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('```js\nconst tide = 1\n```', channel)
    const page = await signInUnaided('ann')
    await page.clock.install()
    const held = Promise.withResolvers<Route>()
    await page.route('**/assets/highlighter-worker-*.js', held.resolve)
    await page.goto(site.baseUrl + address)
    const route = await held.promise
    await page.clock.runFor(5_000)
    await route.continue()
    await article(page, 'const tide').locator('.code-keyword').waitFor()
  })

  test('code is highlighted even when the script was never loaded for earlier code', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('```js\nconst ebb = 1\n```', channel)
    const page = await signInUnaided('ann')
    await page.clock.install()
    const pattern = '**/assets/highlighter-worker-*.js'
    const held = Promise.withResolvers<void>()
    let asked = 0
    await page.route(pattern, async (route) => {
      // Without a route, the browser would continue the first request.
      if (++asked > 1) await route.continue()
      else held.resolve()
    })
    await page.goto(site.baseUrl + address)
    await held.promise
    await page.clock.runFor(31_000)
    await eve.says('```js\nconst flood = 2\n```', channel)
    await article(page, 'const flood').locator('.code-keyword').waitFor()
  })
}
