import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'
import { startChromium, whyNoChromium } from './chromium.ts'

const reason = whyNoChromium === null ? '' : ` (skipped: ${whyNoChromium})`

describe.skipIf(whyNoChromium !== null).each(['solo', 'cluster'] as const)(
  `the web client, %s${reason}`,
  (topology) => {
    let installation: Installation
    let browser: Browser

    beforeAll(async () => {
      ;[installation, browser] = await Promise.all([launch(topology), startChromium()])
    })
    afterAll(async () => {
      await browser?.close()
      await installation?.discard()
    })

    /** A page of somebody with a browser of their own. Whatever the page complains of fails the test. */
    async function openPage(address = '/') {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => {
        if (/Content Security Policy|TrustedHTML|TrustedScript/.test(message.text())) complaints.push(message.text())
      })
      onTestFinished(async () => {
        await context.close()
        expect(complaints).toEqual([])
      })
      await page.goto(installation.baseUrl + address)
      return page
    }

    async function signIn(name: string, address = '/') {
      const page = await openPage(address)
      await page.getByLabel('Email').fill(`${name}@example.com`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation', { name: 'Channels' }).waitFor()
      return page
    }

    async function openChannel(page: Page, name: string) {
      await page.getByRole('navigation', { name: 'Channels' }).getByRole('link', { name }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }

    async function createChannel(page: Page, name: string) {
      await page.getByRole('button', { name: 'Create channel' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create channel' })
      await dialog.getByLabel('Name').fill(name)
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }

    /** Sends a text and waits until it stands there, without the signs of its markup. */
    async function say(page: Page, channel: string, text: string, shown = text) {
      const box = page.getByRole('textbox', { name: `Message ${channel}` })
      await box.fill(text)
      await box.press('Enter')
      await article(page, shown).waitFor()
    }

    const article = (page: Page, text: string) => page.getByRole('feed').getByRole('article').filter({ hasText: text })

    test('two people talk in a channel, react, and answer in a thread', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'harbour')
      const bob = await signIn('bob')
      await openChannel(bob, 'harbour')

      await say(ann, 'harbour', 'Is the *boat* ready?', 'Is the boat ready?')
      const heard = article(bob, 'Is the boat ready?')
      await heard.waitFor()
      expect(await heard.locator('strong').textContent()).toBe('boat')

      await heard.hover()
      await heard.getByRole('button', { name: 'React' }).click()
      const search = bob.getByRole('searchbox', { name: 'Search emoji' })
      await search.fill('tada')
      await bob.getByRole('dialog', { name: 'React' }).getByRole('button', { name: 'tada' }).first().waitFor()
      await search.press('Enter')
      await article(ann, 'Is the boat ready?').getByRole('button', { name: '🎉 1' }).waitFor()

      await heard.hover()
      await heard.getByRole('button', { name: 'Reply in thread' }).click()
      const thread = bob.getByRole('complementary', { name: 'Thread' })
      await thread.getByRole('textbox', { name: 'Reply' }).fill('Since noon')
      await thread.getByRole('textbox', { name: 'Reply' }).press('Enter')
      await thread.getByRole('article').filter({ hasText: 'Since noon' }).waitFor()
      await article(ann, 'Is the boat ready?')
        .getByRole('link', { name: /^1 reply/ })
        .click()
      await ann.getByRole('complementary', { name: 'Thread' }).getByText('Since noon').waitFor()
    })

    test('what one edits and deletes changes for the other', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'quay')
      const bob = await signIn('bob')
      await openChannel(bob, 'quay')
      await say(ann, 'quay', 'frist words')
      await article(bob, 'frist words').waitFor()

      await ann.getByRole('textbox', { name: 'Message quay' }).press('ArrowUp')
      const edit = ann.getByRole('textbox', { name: 'Edit message' })
      await edit.fill('first words')
      await edit.press('Enter')
      await article(bob, 'first words').getByText('(edited)').waitFor()

      await article(ann, 'first words').hover()
      await article(ann, 'first words').getByRole('button', { name: 'Delete' }).click()
      await ann.getByRole('dialog', { name: 'Delete message' }).getByRole('button', { name: 'Delete' }).click()
      await article(bob, 'first words').waitFor({ state: 'detached' })
    })

    test('what is unread is counted until it is seen', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'mole')
      const bob = await signIn('bob')
      await openChannel(bob, 'General')
      await say(ann, 'mole', 'one')
      await say(ann, 'mole', 'two')
      const link = bob
        .getByRole('navigation', { name: 'Channels' })
        .getByRole('link', { name: /mole.*2 unread messages/ })
      await link.waitFor()
      await expect.poll(() => bob.title()).toMatch(/^\(\d+\) #General/)
      await link.click()
      await article(bob, 'two').waitFor()
      await bob
        .getByRole('navigation', { name: 'Channels' })
        .getByRole('link', { name: /mole.*unread/ })
        .waitFor({ state: 'detached' })
    })

    test('a direct message reaches the other person', async () => {
      const ann = await signIn('ann')
      const carl = await signIn('carl')
      await ann.getByRole('button', { name: 'New direct message' }).click()
      const person = ann.getByRole('combobox', { name: 'Person' })
      await person.fill('carl')
      await ann.getByRole('option', { name: /carl/ }).waitFor()
      await person.press('Enter')
      await say(ann, 'carl', 'Only for you')
      await carl.getByRole('navigation', { name: 'Direct messages' }).getByRole('link', { name: /^ann/ }).click()
      await article(carl, 'Only for you').waitFor()
    })

    test('a file is attached, and a search finds its message', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'pier')
      await ann
        .locator('input[type=file]')
        .setInputFiles({ name: 'timetable.txt', mimeType: 'text/plain', buffer: Buffer.from('tides') })
      await ann.getByText('timetable.txt').waitFor()
      await ann.getByRole('progressbar', { name: 'timetable.txt' }).waitFor({ state: 'detached' })
      await say(ann, 'pier', 'unmistakable tides')
      const link = article(ann, 'unmistakable tides').getByRole('link', { name: 'timetable.txt' })
      const [download] = await Promise.all([ann.waitForEvent('download'), link.click()])
      expect(download.suggestedFilename()).toBe('timetable.txt')

      await ann.getByRole('searchbox', { name: 'Search' }).fill('unmistakable')
      await ann.getByRole('searchbox', { name: 'Search' }).press('Enter')
      const found = ann.getByRole('region', { name: 'Search results' }).getByRole('article')
      await found.filter({ hasText: 'unmistakable tides' }).waitFor()
      await found.getByRole('link', { name: /:/ }).first().click()
      await ann.getByRole('heading', { level: 1, name: 'pier' }).waitFor()
      await article(ann, 'unmistakable tides').waitFor()
    })

    test('a reload goes on with the session, and signing out ends it', async () => {
      const ann = await signIn('ann')
      await ann.reload()
      await ann.getByRole('navigation', { name: 'Channels' }).waitFor()
      await ann.getByRole('button', { name: 'Account' }).click()
      await ann.getByRole('menuitem', { name: 'Sign out' }).click()
      await ann.getByRole('button', { name: 'Sign in' }).waitFor()
      await ann.reload()
      await ann.getByRole('button', { name: 'Sign in' }).waitFor()
    })

    test.each(['light', 'dark'] as const)('axe finds no violation of WCAG 2.2 A or AA, %s', async (colorScheme) => {
      const ann = await signIn('ann')
      await ann.emulateMedia({ colorScheme })
      await createChannel(ann, `slip-${colorScheme}`)
      await say(ann, `slip-${colorScheme}`, 'A *word*, a `name` and a https://example.com/link', 'A word, a name')
      const violations = async () => {
        const { violations: found } = await new AxeBuilder({ page: ann })
          .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
          .analyze()
        return found.map(({ id, nodes }) => [id, nodes[0]?.html])
      }
      expect(await violations()).toEqual([])
      for (const address of ['/preferences', '/profile', '/sessions', '/search?q=word']) {
        await ann.goto(installation.baseUrl + address)
        await ann.getByRole('heading', { level: 1 }).waitFor()
        expect([address, await violations()]).toEqual([address, []])
      }
    })

    test('content of strangers is text: nothing of it runs', async () => {
      const ann = await signIn('ann')
      await createChannel(ann, 'reef')
      await say(ann, 'reef', '<img src=x onerror=alert(1)> <script>alert(1)</script> done')
      expect(await article(ann, 'done').locator('img, script').count()).toBe(0)
      const box = ann.getByRole('textbox', { name: 'Message reef' })
      await box.fill('[click](javascript:alert(1)) harmless')
      await box.press('Enter')
      await article(ann, 'harmless').waitFor()
      expect(await article(ann, 'harmless').locator('.text a').count()).toBe(0)
    })
  },
)
