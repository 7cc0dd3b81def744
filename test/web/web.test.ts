import { expect, test } from 'vitest'
import { usualTopologies } from '../src/launch.ts'
import { Person } from '../src/person.ts'
import { favouritesJourneys } from './favourites-journeys.ts'
import { mentionJourneys } from './mention-journeys.ts'
import { savedJourneys } from './saved-journeys.ts'
import { describeSite } from './site.ts'
import { statusJourneys } from './status-journeys.ts'
import { threadJourneys } from './thread-journeys.ts'
import { act, article, channels, composer, createChannel, hasFocus, joinChannel, openChannel, say } from './visitors.ts'

/** Records the height of the whole list of a channel after each change in it. */
const watchHeight = (name: string) => `
  const heights = new Set()
  const look = () => {
    const list = document.querySelector('[role=feed][aria-label$="${name}"] .feed-scroller')
    if (list) heights.add(list.scrollHeight)
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true })
  window.seenHeights = heights
`

/** Two people use the web client, with one process and with a cluster. */
for (const topology of usualTopologies) {
  describeSite(`the web client, ${topology}`, { topology }, (site) => {
    const { signIn } = site
    threadJourneys(site)

    mentionJourneys(site)
    savedJourneys(site)
    statusJourneys(site)

    favouritesJourneys(site)

    test('two people talk in a channel, react, and answer in a thread', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'harbour')
      const bob = await signIn('bob')
      await joinChannel(bob, 'harbour')

      await say(ann, 'harbour', 'Is the *boat* ready?', 'Is the boat ready?')
      const heard = article(bob, 'Is the boat ready?')
      await heard.waitFor()
      expect(await heard.locator('strong').textContent()).toBe('boat')

      await act(bob, 'Is the boat ready?', 'React')
      await bob.getByRole('searchbox', { name: 'Search emoji' }).fill('tada')
      await bob.keyboard.press('Enter')
      await article(ann, 'Is the boat ready?').getByRole('button', { name: '🎉 1' }).waitFor()

      await act(bob, 'Is the boat ready?', 'Reply in thread')
      const thread = bob.getByRole('complementary', { name: 'Thread' })
      await thread.getByRole('textbox', { name: 'Reply' }).fill('Since noon')
      await thread.getByRole('textbox', { name: 'Reply' }).press('Enter')
      await thread.getByRole('article').filter({ hasText: 'Since noon' }).waitFor()
      await article(ann, 'Is the boat ready?')
        .getByRole('link', { name: /^1 reply/ })
        .click()
      await ann.getByRole('complementary', { name: 'Thread' }).getByText('Since noon').waitFor()
    })

    test('a person who types all the time sees the messages of others and their own', async () => {
      const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
      const weir = await eve.creates({ name: 'weir' })
      const ann = await signIn('ann')
      await joinChannel(ann, 'weir')
      const box = composer(ann, 'weir')
      await box.focus()
      const typing = ann.keyboard.type('a'.repeat(100), { delay: 20 })
      for (let n = 1; n <= 10; n++) await eve.says(`wave ${n}.`, weir)
      await typing
      for (let n = 1; n <= 10; n++) await article(ann, `wave ${n}.`).waitFor()
      await box.fill('mine')
      await box.press('Enter')
      await article(ann, 'mine').waitFor()
    })

    test('a channel that is opened again has its previous height from the first render on, so the layout does not shift', async () => {
      const writer = await Person.signIn(site.baseUrl, 'eve@example.com')
      const [tall, other] = [await writer.creates({ name: 'tall' }), await writer.creates({ name: 'other' })]
      for (let n = 1; n <= 60; n++) await writer.says(`${n}: ${'words of some length '.repeat((n % 9) * 4)}`, tall)
      await writer.says('elsewhere', other)
      const page = await signIn('ann')
      await joinChannel(page, 'tall')
      await article(page, '60: ').waitFor()
      await page.locator('[role=feed][aria-busy=false]').waitFor()
      // The rows above the visible ones are rendered when the browser is idle.
      await page.evaluate('new Promise((resolve) => requestIdleCallback(() => requestAnimationFrame(resolve)))')
      await joinChannel(page, 'other')
      await article(page, 'elsewhere').waitFor()
      await page.evaluate(watchHeight('tall'))
      await openChannel(page, 'tall')
      await article(page, '60: ').waitFor()
      await page.locator('[role=feed][aria-busy=false]').waitFor()
      expect(await page.evaluate('[...seenHeights]')).toHaveLength(1)
    })

    test('the other person sees edits and deletions, and a deletion can be undone', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'quay')
      const bob = await signIn('bob')
      await joinChannel(bob, 'quay')
      await say(ann, 'quay', 'frist words')
      await article(bob, 'frist words').waitFor()
      await article(ann, 'frist words').getByRole('link').waitFor({ state: 'attached' })
      await ann.getByRole('textbox', { name: 'Message quay' }).press('ArrowUp')
      const edit = ann.getByRole('textbox', { name: 'Edit message' })
      await edit.fill('first words')
      await edit.press('Enter')
      await article(bob, 'first words').getByText('(edited)').waitFor()

      const confirm = ann.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' })
      await act(ann, 'first words', 'Delete')
      await confirm.click()
      await article(ann, 'first words').waitFor({ state: 'detached' })
      await ann.getByRole('button', { name: 'Undo' }).click()
      await article(ann, 'first words').waitFor()
      await act(ann, 'first words', 'Delete')
      await confirm.click()
      await article(bob, 'first words').waitFor({ state: 'detached' })
    })

    test('unread messages are counted until they are seen, and can be marked as unread again', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'mole')
      const bob = await signIn('bob')
      await joinChannel(bob, 'mole')
      await openChannel(bob, 'General')
      await say(ann, 'mole', 'one')
      await say(ann, 'mole', 'two for @bob today')
      const unread = (count: number) =>
        channels(bob).getByRole('link', { name: new RegExp(`^mole.*${count} unread messages?, 1 mention`) })
      await unread(2).waitFor()
      await expect.poll(() => bob.title()).toMatch(/^\(2\) #General/)
      await unread(2).click()
      await article(bob, 'two for').waitFor()
      await channels(bob)
        .getByRole('link', { name: /mole.*unread/ })
        .waitFor({ state: 'detached' })

      await act(bob, 'two for', 'Mark as unread')
      await channels(bob)
        .getByRole('link', { name: /^mole.*1 unread message/ })
        .waitFor()
      await expect.poll(() => bob.title()).toMatch(/^\(1\) #mole/)
    })

    test('a direct message reaches the other person', async () => {
      const ann = await signIn('ann')
      const carl = await signIn('carl')
      await ann.getByRole('button', { name: 'New direct message' }).click()
      await ann.getByRole('dialog', { name: 'New direct message' }).getByRole('combobox').fill('carl')
      await ann.keyboard.press('Enter')
      await say(ann, 'carl', 'Only for you')
      await carl.getByRole('navigation', { name: 'Direct messages' }).getByRole('link', { name: /^ann/ }).click()
      await article(carl, 'Only for you').waitFor()
    })

    test('a message can be sent while its file is still being uploaded, and a search finds it', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'pier')
      await ann
        .locator('input[type=file]')
        .setInputFiles({ name: 'timetable.txt', mimeType: 'text/plain', buffer: Buffer.from('tides') })
      await say(ann, 'pier', 'unmistakable tides')
      const link = article(ann, 'unmistakable tides').getByRole('link', { name: 'timetable.txt' })
      const [download] = await Promise.all([ann.waitForEvent('download'), link.click()])
      expect(download.suggestedFilename()).toBe('timetable.txt')

      await ann.getByRole('searchbox', { name: 'Search' }).fill('unmistakable from:me in:pier')
      await ann.keyboard.press('Enter')
      const found = ann.getByRole('region', { name: 'Search results' }).getByRole('article')
      await found.filter({ hasText: 'unmistakable tides' }).waitFor()
      await found.getByRole('link', { name: /\d:\d\d/ }).click()
      await ann.getByRole('heading', { level: 1, name: 'pier' }).waitFor()
      await hasFocus(article(ann, 'unmistakable tides'))
    })

    test('a reload continues the session, and signing out ends it and removes all data', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'shoal')
      await say(ann, 'shoal', 'depth')
      await act(ann, 'depth', 'Quote')
      await ann.getByRole('textbox', { name: 'Message shoal' }).fill('half a thought')
      await ann.reload()
      await expect.poll(() => ann.getByRole('textbox', { name: 'Message shoal' }).inputValue()).toBe('half a thought')
      await ann.getByRole('button', { name: 'Account' }).click()
      await ann.getByRole('menuitem', { name: 'Sign out' }).click()
      await ann.getByRole('button', { name: 'Sign in' }).waitFor()
      await ann.reload()
      await ann.getByRole('button', { name: 'Sign in' }).waitFor()
      // A slow browser removes the store a moment later, and keeps a note of it until then.
      const left = () => ann.evaluate(() => Object.keys(localStorage).filter((key) => key !== 'parley.preferences'))
      await expect.poll(left).toEqual([])
    })
  })
}
