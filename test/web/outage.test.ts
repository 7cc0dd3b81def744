import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Topology } from '../src/launch.ts'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'
import { article, complaintsOf, composer } from './visitors.ts'

const topologies: Topology[] = process.env.TEST_LONG ? ['solo', 'cluster'] : ['solo']

const ends = process.env.TEST_LONG ? (['killed', 'stopped'] as const) : (['killed'] as const)

const write = async (page: Page, text: string) => {
  await composer(page, 'far away').fill(text)
  await composer(page, 'far away').press('Enter')
  await article(page, text).waitFor()
}

/** In the page: the ids of the stored channels, which it can show after a reload without the server. */
async function keptChannels(): Promise<IDBValidKey[]> {
  const answered = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  const kept: IDBValidKey[] = []
  for (const { name } of await indexedDB.databases()) {
    if (!name?.startsWith('parley ')) continue
    const database = await answered(indexedDB.open(name))
    const read = database.transaction(['state', 'channels'], 'readonly')
    const [states, channels] = await Promise.all([
      answered(read.objectStore('state').count()),
      answered(read.objectStore('channels').getAllKeys()),
    ])
    if (states > 0) kept.push(...channels)
    database.close()
  }
  return kept
}

/** A rolling restart needs two replicas of each service. */
const options = { timeout: 240_000, launched: () => ({ replicas: 2 }) }

for (const topology of topologies) {
  describeSite(`the web client while the server is away, ${topology}`, { topology, ...options }, (site) => {
    const { signIn } = site

    /** Two people in a channel. In the end their pages are equal to what the server returns. */
    async function meet() {
      const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
      const channel = await eve.creates({ name: `far away ${randomUUID().slice(0, 8)}` })
      const address = `/c/${channel.id}`
      const [ann, bob] = [await signIn('ann', address), await signIn('bob', address)]
      await write(ann, 'before')
      await article(bob, 'before').waitFor()
      const settles = async (pages: Page[], last: string) => {
        for (const page of pages) {
          // The event of a browser when its network is back. Without it, the page retries some seconds later.
          await page.evaluate(() => dispatchEvent(new Event('online')))
          await article(page, last).waitFor()
          await expect.poll(() => article(page, 'Sending…').count()).toBe(0)
          await page.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor({ state: 'detached' })
        }
        const said = (await eve.readsAll(`/channels/${channel.id}/messages`)).map(({ content }) => content)
        for (const page of pages) {
          // Of long lists, only the end is in the document.
          const isEndOfAll = async () => {
            const seen = await page.getByRole('main').locator('article .text').allTextContents()
            return seen.length > 3 && JSON.stringify(seen) === JSON.stringify(said.slice(-seen.length))
          }
          await expect.poll(isEndOfAll).toBe(true)
        }
        return said
      }
      return { address, ann, bob, settles }
    }

    test.each(ends)(
      '%s: people type and reload, everything written arrives once, in order, and drafts stay',
      async (end) => {
        const { address, ann, bob, settles } = await meet()
        await ann.evaluate(() => navigator.serviceWorker.ready)
        await expect.poll(() => ann.evaluate(keptChannels)).toContain(address.split('/').at(-1))

        await (end === 'killed' ? site.installation.killEverything() : site.installation.stop())
        await ann.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor()
        await write(ann, 'first')
        await write(ann, 'second')
        await article(ann, 'second').getByText('Sending…').waitFor()
        await composer(ann, 'far away').fill('last moment')
        await composer(ann, 'far away').evaluate((box) => {
          box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
          location.reload()
        })
        await article(ann, 'last moment').waitFor()
        await composer(ann, 'far away').fill('half a')
        await ann.reload()
        await article(ann, 'second').waitFor()
        await expect.poll(() => composer(ann, 'far away').inputValue()).toBe('half a')
        const tab = await ann.context().newPage()
        const complaints = complaintsOf(tab)
        await tab.goto(site.baseUrl + address)
        await article(tab, 'second').waitFor()
        await write(tab, 'third')
        await article(ann, 'third').waitFor()

        await site.installation.start()
        expect(await settles([ann, tab, bob], 'third')).toEqual(['before', 'first', 'second', 'last moment', 'third'])
        expect(await composer(tab, 'far away').inputValue()).toBe('')
        expect(complaints).toEqual([])
      },
    )

    test.runIf(topology === 'cluster')('rolled: nothing of what two people say meanwhile is lost', async () => {
      const { ann, bob, settles } = await meet()
      let isRolled = false
      const rolled = site.installation.restartInTurn().finally(() => (isRolled = true))
      let said = 0
      while (!isRolled) {
        said++
        await write(ann, `ann ${said}.`)
        await write(bob, `bob ${said}.`)
      }
      await rolled
      await write(ann, 'the end')
      const all = await settles([ann, bob], 'the end')
      for (const name of ['ann', 'bob']) {
        const wanted = Array.from({ length: said }, (_, n) => `${name} ${n + 1}.`)
        expect(all.filter((text) => text.startsWith(name))).toEqual(wanted)
      }
    })

    test('unsent messages of one person are neither shown to another person nor sent in their name', async () => {
      const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
      const channel = await eve.creates({ name: 'shared desk' })
      const page = await signIn('carl', `/c/${channel.id}`, { withoutWorker: true })
      await composer(page, 'shared desk').waitFor()
      await page
        .context()
        .route('**/channels/*/messages', (route) =>
          route.request().method() === 'POST' ? route.abort() : route.continue(),
        )
      await composer(page, 'shared desk').fill('a secret of carl')
      await composer(page, 'shared desk').press('Enter')
      await article(page, 'a secret of carl').waitFor()
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByLabel('Email').waitFor()
      await page.context().unroute('**/channels/*/messages')
      await page.getByLabel('Email').fill('dora@example.com')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Account' }).waitFor()
      await page.goto(`${site.baseUrl}/c/${channel.id}`)
      await composer(page, 'shared desk').fill('a word of dora')
      await composer(page, 'shared desk').press('Enter')
      await article(page, 'a word of dora').waitFor()
      await article(page, 'Sending…').waitFor({ state: 'detached' })
      const said = (await eve.readsAll(`/channels/${channel.id}/messages`)).map(({ content, author }) => [
        author.userName,
        content,
      ])
      expect(said).toEqual([['dora', 'a word of dora']])
      expect(await article(page, 'a secret of carl').count()).toBe(0)
    })
  })
}
