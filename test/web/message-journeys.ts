import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { act, article, channelIdOf, channels, composer, createChannel, main, openChannel, say } from './visitors.ts'

/** Messages and the composer, by role and name. */
export function messageJourneys(site: Site) {
  const { signIn } = site
  let eve: Person

  beforeAll(async () => {
    eve = await Person.signIn(site.baseUrl, 'eve@example.com')
  })

  test('a message has a name, a description, a time, and actions', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'bow')
    const bow = { id: channelIdOf(ann) }
    const first = await eve.says('first of eve', bow)
    await say(ann, 'bow', 'second of ann')
    const feed = main(ann).getByRole('feed', { name: /bow/ })
    await expect.poll(() => feed.getAttribute('aria-busy')).toBe('false')
    const heard = feed.getByRole('article', { name: /eve.*\d:\d\d/ })
    const described = await heard.getAttribute('aria-describedby')
    expect(await ann.locator(`[id="${described}"]`).getAttribute('dir')).toBe('auto')
    const time = heard.getByRole('link').filter({ has: ann.locator('time[datetime]') })
    expect(await time.getAttribute('href')).toBe(`/c/${bow.id}/m/${first.id}`)

    await act(ann, 'first of eve', 'Pin')
    await main(ann).getByRole('button', { name: 'Pinned messages' }).click()
    await ann.getByRole('dialog', { name: 'Pinned messages' }).getByText('first of eve').waitFor()
    await ann.keyboard.press('Escape')
    await act(ann, 'first of eve', 'Unpin')
    await act(ann, 'first of eve', 'React')
    await ann.getByRole('dialog', { name: 'React' }).getByRole('searchbox').fill('rocket')
    await ann.keyboard.press('Enter')
    const reaction = article(ann, 'first of eve').getByRole('button', { name: '🚀 1' })
    expect(await reaction.getAttribute('aria-pressed')).toBe('true')
    await act(ann, 'first of eve', 'Quote')
    await say(ann, 'bow', 'about that')
    await article(ann, 'about that').getByRole('blockquote').getByText('first of eve').waitFor()

    await act(ann, 'second of ann', 'Edit')
    const edit = ann.getByRole('textbox', { name: 'Edit message' })
    await edit.fill('never mind')
    await edit.press('Escape')
    await article(ann, 'second of ann').waitFor()
  })

  test('a message of a webhook is marked as one of a bot', async () => {
    const admin = await signIn('admin', '/admin/webhooks')
    await admin.getByRole('button', { name: 'Create webhook' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Create webhook' })
    await dialog.getByLabel('Name').fill('builds')
    await dialog.getByLabel('Channel').selectOption('General')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue()
    const url = await dialog.getByRole('textbox', { name: 'URL' }).inputValue()
    await admin.keyboard.press('Escape')
    const row = admin.getByRole('row', { name: /builds/ })
    await row.getByRole('button', { name: 'New URL' }).click()
    const renewing = admin.getByRole('dialog', { name: 'New URL' })
    await renewing.getByRole('button', { name: 'Make a new URL' }).click()
    const newUrl = await renewing.getByRole('textbox', { name: 'URL' }).inputValue()
    const statusOf = async (hook: string) =>
      (await Person.nobody(site.baseUrl).post(new URL(hook).pathname, { text: 'hook' })).status
    expect([await statusOf(url), await statusOf(newUrl)]).toEqual([403, 200])
    await admin.keyboard.press('Escape')
    const { webhooks } = (await (await Person.signIn(site.baseUrl, 'admin@example.com')).get('/webhooks')).body
    const path = `/webhooks/${webhooks[0].id}/messages`
    const nobody = Person.nobody(site.baseUrl)
    expect((await nobody.post(path, { content: 'it builds' }, { authorization: `Bearer ${token}` })).status).toBe(200)
    await openChannel(admin, 'General')
    await main(admin)
      .getByRole('article', { name: /builds BOT/ })
      .filter({ hasText: 'it builds' })
      .waitFor()
  })

  test('code is highlighted, and a group is suggested and its mention is marked for its members', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'crew')
    const crew = { id: channelIdOf(ann) }
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { id } = await Person.signIn(site.baseUrl, 'ann@example.com')
    for (const [handle, members] of [
      ['riggers', [id]],
      ['riders', []],
    ] as const) {
      const { status, body } = await admin.post('/groups', { handle, name: `All ${handle}`, members })
      expect(status).toBe(200)
      onTestFinished(async () => void (await admin.delete(`/groups/${body.group.id}`)))
    }
    await eve.says('```ts\nconst knots = "<b>" // three\n```', crew)
    await eve.says('@riggers and @riders', crew)
    const mention = (name: string) => article(ann, '@riggers and').locator('.mention', { hasText: name })
    await expect.poll(() => mention('@riggers').getAttribute('data-me')).toBe('true')
    expect(await mention('@riders').getAttribute('data-me')).toBeNull()
    const code = article(ann, 'knots').locator('code')
    await expect.poll(() => code.locator('.code-string').allTextContents()).toEqual(['"<b>"'])
    expect(await code.textContent()).toBe('const knots = "<b>" // three')
    await composer(ann, 'crew').pressSequentially('@rigg')
    await ann.getByRole('option', { name: '@riggers All riggers · 1 member' }).waitFor()
    await ann.keyboard.press('Tab')
    expect(await composer(ann, 'crew').inputValue()).toBe('@riggers ')
  })

  test('a block of code shows its new text after an edit', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'ropes')
    const { id } = await eve.says('```ts\nconst bowline = 1\n```', { id: channelIdOf(ann) })
    const code = ann.getByRole('article').locator('code')
    await code.locator('.code-keyword').waitFor()
    await eve.put(`/messages/${id}`, { content: '```\nconst hitch = 2\n```' })
    await expect.poll(() => code.textContent()).toBe('const hitch = 2')
  })

  test('the composer has suggestions, several lines and files', async () => {
    const ann = await signIn('ann')
    await createChannel(ann, 'galley')
    const box = composer(ann, 'galley')
    for (const [typed, option, taken] of [
      ['@ev', /@eve/, '@eve '],
      ['#Ge', /#General/, '#General '],
      [':rock', /:rock:/, '🪨 '],
    ] as const) {
      await box.fill('')
      await box.pressSequentially(typed)
      await ann.getByRole('listbox').getByRole('option', { name: option }).waitFor()
      expect(await box.getAttribute('aria-activedescendant')).not.toBeNull()
      if (typed !== ':rock') {
        await box.press('Tab')
        expect(await box.inputValue()).toBe(taken)
      } else {
        await box.press('Escape')
        await ann.getByRole('listbox').waitFor({ state: 'detached' })
      }
    }
    await box.fill('one')
    await box.press('Shift+Enter')
    await box.pressSequentially('two')
    await box.press('Enter')

    // Begins before the click, because the browser needs a moment to hand the choice to the test.
    const chosen = ann.waitForEvent('filechooser')
    await article(ann, /one\s*two/).waitFor()
    await main(ann).getByRole('button', { name: 'Attach files' }).click()
    expect(await (await chosen).element().evaluate((input) => (input as Element).ariaLabel)).toBe('Attach files')
    await main(ann)
      .getByLabel('Attach files')
      .setInputFiles([
        { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') },
        { name: 'b.png', mimeType: 'image/png', buffer: await ann.screenshot() },
      ])
    await ann.getByRole('button', { name: 'Remove a.txt' }).waitFor()
    await box.fill('with files')
    await main(ann).getByRole('button', { name: 'Send', exact: true }).click()
    await article(ann, 'with files')
      .getByRole('link', { name: /a\.txt/ })
      .waitFor()
    await article(ann, 'with files').getByRole('button', { name: 'b.png' }).click()
    await ann.getByRole('dialog', { name: 'b.png' }).getByRole('img', { name: 'b.png' }).waitFor()
    const download = ann.waitForEvent('download')
    await ann.getByRole('dialog', { name: 'b.png' }).getByRole('link', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('b.png')
    await ann.keyboard.press('Escape')
  })

  test('a public channel can be read without joining it, and posting joins it', async () => {
    const { body } = await eve.post('/channels', { name: 'open sea' })
    await eve.says('anybody there?', body.channel)
    const ann = await signIn('ann', `/c/${body.channel.id}`)
    await article(ann, 'anybody there?').waitFor()
    await main(ann).getByRole('button', { name: 'Join channel' }).waitFor()
    await say(ann, 'open sea', 'me')
    await main(ann).getByRole('button', { name: 'Join channel' }).waitFor({ state: 'detached' })
    await channels(ann).getByRole('link', { name: 'open sea' }).waitFor()
  })
}
