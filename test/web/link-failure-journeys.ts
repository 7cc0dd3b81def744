import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Person } from '../src/person.ts'
import { createFailing, unavailable } from './failing.ts'
import type { Site } from './site.ts'
import { article } from './visitors.ts'

async function replies(person: Person, parent: { id: string }, content: string): Promise<{ id: string }> {
  return (await person.post(`/messages/${parent.id}/thread`, { content })).body.reply
}

const threadOf = (page: Page) => page.getByRole('complementary', { name: 'Thread' })

/** Links to messages that are gone, or that the server cannot find at this moment. */
export function linkFailureJourneys(site: Site) {
  const { signIn } = site
  const { signInUnaided, meet } = createFailing(site)

  test('a link to a message waits for a busy server, and says "not found" only when there is no message', async () => {
    const { eve, channel, address } = await meet()
    const { id } = await eve.says('the far buoy', channel)
    const page = await signInUnaided('ann')
    let asked = 0
    await page.route(`**/messages/${id}`, (route) => {
      asked++
      return unavailable(route)
    })
    await page.goto(`${site.baseUrl}${address}/m/${id}`)
    await expect.poll(() => asked).toBeGreaterThan(1)
    expect(await page.getByRole('heading', { name: 'Not found' }).count()).toBe(0)
    await page.unroute(`**/messages/${id}`)
    await article(page, 'the far buoy').waitFor()
    await page.goto(`${site.baseUrl}${address}/m/${randomUUID()}`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })

  test('a link to a deleted reply shows the other replies', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('who takes the helm?', channel)
    for (let n = 1; n <= 30; n++) await replies(eve, parent, `I do, ${n} times`)
    const { id } = await replies(eve, parent, 'not me')
    await eve.delete(`/messages/${parent.id}/thread/${id}`)
    const page = await signIn('ann', `${address}/t/${parent.id}/m/${id}`)
    const reply = (text: string) => threadOf(page).getByRole('article').filter({ hasText: text })
    await reply('I do, 30 times').waitFor()
    await replies(eve, parent, 'so be it')
    await reply('so be it').waitFor()
    expect(await reply('I do, 1 times').count()).toBe(0)
  })

  test('a linked reply can be deleted while its thread is shown', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('who takes the watch?', channel)
    await replies(eve, parent, 'I will')
    const { id } = await replies(eve, parent, 'nobody')
    const page = await signIn('ann', `${address}/t/${parent.id}/m/${id}`)
    const reply = (text: string) => threadOf(page).getByRole('article').filter({ hasText: text })
    await reply('nobody').waitFor()
    await eve.delete(`/messages/${parent.id}/thread/${id}`)
    await reply('nobody').waitFor({ state: 'detached' })
    await reply('I will').waitFor()
  })

  test('a thread shows that its message was deleted, also when it is deleted while the thread is shown', async () => {
    const { eve, channel, address } = await meet()
    const [early, late] = [await eve.says('gone early', channel), await eve.says('gone late', channel)]
    const { id } = await replies(eve, early, 'an answer')
    await eve.delete(`/messages/${early.id}`)
    const page = await signIn('ann', `${address}/t/${early.id}/m/${id}`)
    const sentence = threadOf(page).getByText('This message is not available')
    await sentence.waitFor()
    await page.goto(`${site.baseUrl}${address}/t/${late.id}`)
    await threadOf(page).getByText('No replies yet').waitFor()
    await eve.delete(`/messages/${late.id}`)
    await sentence.waitFor()
    expect(await threadOf(page).getByRole('feed').count()).toBe(0)
  })

  test('a linked message can be deleted while its channel is shown', async () => {
    const { eve, channel, address } = await meet()
    await eve.says('stays there', channel)
    const { id } = await eve.says('goes away', channel)
    const page = await signIn('ann', `${address}/m/${id}`)
    await article(page, 'goes away').waitFor()
    await eve.delete(`/messages/${id}`)
    await article(page, 'goes away').waitFor({ state: 'detached' })
    await article(page, 'stays there').waitFor()
  })

  test('a list whose first row is an unsent message is not busy once its messages are loaded', async () => {
    const { eve, channel, address } = await meet()
    const parent = await eve.says('any news?', channel)
    const page = await signInUnaided('ann')
    const held: Route[] = []
    let isHolding = true
    await page.route('**/messages/*/thread*', async (route) => {
      // The request that sends the message never gets a response.
      if (route.request().method() !== 'GET') return
      // The page may request the replies twice: when it does not have their parent yet, and once it has it.
      if (isHolding) held.push(route)
      else await route.continue()
    })
    await page.goto(`${site.baseUrl}${address}/t/${parent.id}`)
    const box = threadOf(page).getByRole('textbox', { name: 'Reply' })
    await box.fill('none yet')
    await box.press('Enter')
    await threadOf(page).getByRole('article').filter({ hasText: 'none yet' }).waitFor()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    isHolding = false
    for (const route of held) await route.continue()
    await threadOf(page).locator('[role=feed][aria-busy=false]').waitFor()
  })
}
