import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import {
  act,
  article,
  channelIdOf,
  composer,
  createChannel,
  hasFocus,
  isStored,
  openChannel,
  say,
  untilDrawn,
} from './visitors.ts'

/** Changing the text of a message that was sent. */
export function editingJourneys(site: Site) {
  const { signIn } = site

  test('saving an emptied message asks whether to delete it', async () => {
    const oda = await signIn('oda')
    await createChannel(oda, 'blank log')
    await say(oda, 'blank log', 'never mind')
    await isStored(oda, 'never mind')
    const box = composer(oda, 'blank log')
    const edit = oda.getByRole('textbox', { name: 'Edit message' })
    const dialog = oda.getByRole('dialog', { name: 'Delete message' })
    const saveEmpty = async () => {
      await box.press('ArrowUp')
      await edit.fill(' ')
      await edit.press('Enter')
      await dialog.waitFor()
    }
    await saveEmpty()
    await oda.keyboard.press('Escape')
    await hasFocus(box)
    await article(oda, 'never mind').waitFor()
    await saveEmpty()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await article(oda, 'never mind').waitFor({ state: 'detached' })
  })

  test('the text of an edit is not lost when an admin deletes the message meanwhile', async () => {
    const kaja = await signIn('kaja')
    await createChannel(kaja, 'torn page')
    await say(kaja, 'torn page', 'first words')
    await isStored(kaja, 'first words')
    const admin = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { messages } = (await admin.get(`/channels/${channelIdOf(kaja)}/messages`)).body
    await composer(kaja, 'torn page').press('ArrowUp')
    await kaja.getByRole('textbox', { name: 'Edit message' }).fill(`better words${'!'.repeat(9_000)}`)
    await admin.delete(`/messages/${messages.at(-1).id}`)
    const alert = kaja.getByRole('alert').filter({ hasText: 'was deleted. You had written: better words' })
    await alert.waitFor()
    expect((await alert.boundingBox())!.height).toBeLessThan(kaja.viewportSize()!.height / 2)
    await article(kaja, 'first words').waitFor({ state: 'detached' })

    await say(kaja, 'torn page', 'second words')
    await isStored(kaja, 'second words')
    await composer(kaja, 'torn page').press('ArrowUp')
    await kaja.getByRole('textbox', { name: 'Edit message' }).fill('')
    await kaja.keyboard.press('Enter')
    await kaja
      .getByRole('dialog', { name: 'Delete message' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click()
    await article(kaja, 'second words').waitFor({ state: 'detached' })
    await kaja.getByRole('status').filter({ hasText: 'Message deleted' }).waitFor({ state: 'detached' })
    expect(await kaja.getByRole('alert').count()).toBe(1)
  })

  test('ArrowUp edits the newest own message, also when it is far above', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'long watch' })
    const avi = await signIn('avi', `/c/${channel.id}`)
    await avi.getByRole('button', { name: 'Join channel' }).click()
    await say(avi, 'long watch', 'my only words')
    await isStored(avi, 'my only words')
    for (let n = 0; n < 40; n++) await eve.says(`hour ${n}. ${'nothing in sight '.repeat(20)}`, channel)
    await article(avi, 'hour 39.').waitFor()
    await composer(avi, 'long watch').press('ArrowUp')
    const edit = avi.getByRole('textbox', { name: 'Edit message' })
    await hasFocus(edit)
    expect(await edit.inputValue()).toBe('my only words')
    await avi.keyboard.press('Escape')
    await hasFocus(composer(avi, 'long watch'))
  })

  test('ArrowUp edits the message that is still being sent once the server has it, unless the person writes meanwhile', async () => {
    const ute = await signIn('ute', '/', { withoutWorker: true })
    await createChannel(ute, 'bosun')
    await say(ute, 'bosun', 'the one before')
    await isStored(ute, 'the one before')
    const held: Route[] = []
    await ute.route('**/channels/*/messages', (route) =>
      route.request().method() === 'POST' ? void held.push(route) : route.continue(),
    )
    const letGo = async (text: string) => {
      await expect.poll(() => held.length).toBe(1)
      await held.pop()!.continue()
      await isStored(ute, text)
    }
    const box = composer(ute, 'bosun')
    const edit = ute.getByRole('textbox', { name: 'Edit message' })
    await say(ute, 'bosun', 'the last oen')
    await box.press('ArrowUp')
    expect(await edit.count()).toBe(0)
    await letGo('the last oen')
    await hasFocus(edit)
    expect(await edit.inputValue()).toBe('the last oen')
    await edit.press('Escape')
    await hasFocus(box)

    await say(ute, 'bosun', 'aye')
    await box.press('ArrowUp')
    await box.pressSequentially('and')
    await letGo('aye')
    await hasFocus(box)
    expect([await box.inputValue(), await edit.count()]).toEqual(['and', 0])
  })

  test('after an edit that a button has begun, the focus is on the message', async () => {
    const ulla = await signIn('ulla')
    await createChannel(ulla, 'fore peak')
    await say(ulla, 'fore peak', 'the hatch is shut')
    await isStored(ulla, 'the hatch is shut')
    const edit = ulla.getByRole('textbox', { name: 'Edit message' })
    for (const key of ['Escape', 'Enter']) {
      await act(ulla, 'the hatch is', 'Edit')
      await edit.fill(`the hatch is open, said ${key}`)
      await edit.press(key)
      await edit.waitFor({ state: 'detached' })
      await hasFocus(article(ulla, 'the hatch is'))
    }
  })

  test('an open editor stays while the person reads far away from it', async () => {
    const eve = await Person.signIn(site.baseUrl, 'eve@example.com')
    const channel = await eve.creates({ name: 'dog watch' })
    const ugo = await signIn('ugo', `/c/${channel.id}`)
    for (let n = 1; n <= 60; n++) await eve.says(`bell ${n}. ${'nothing in sight '.repeat(20)}`, channel)
    await ugo.getByRole('button', { name: 'Join channel' }).click()
    await say(ugo, 'dog watch', 'I see a ligth')
    await isStored(ugo, 'I see a ligth')
    const edit = ugo.getByRole('textbox', { name: 'Edit message' })
    for (const begin of [() => act(ugo, 'I see a ligth', 'Edit'), () => composer(ugo, 'dog watch').press('ArrowUp')]) {
      await begin()
      await edit.fill('I see a light')
      await article(ugo, 'bell 60.').locator('.text').click()
      await hasFocus(article(ugo, 'bell 60.'))
      await ugo.getByRole('feed').hover()
      await ugo.mouse.wheel(0, -10_000)
      await article(ugo, /bell 1?\d\./)
        .first()
        .waitFor()
      await ugo.getByRole('button', { name: 'Jump to newest' }).click()
      await article(ugo, 'bell 60.').waitFor()
      expect(await edit.inputValue()).toBe('I see a light')
      await edit.press('Escape')
    }
  })

  test('a late response of an edit closes no other editor and takes no focus, and an unsaved text is kept', async () => {
    const aki = await signIn('aki', '/', { withoutWorker: true })
    for (const name of ['harbour master', 'pilot']) await createChannel(aki, name)
    await say(aki, 'pilot', 'one')
    await say(aki, 'pilot', 'two')
    // ArrowUp edits the newest message that the server has.
    await isStored(aki, 'two')
    const held: Route[] = []
    await aki.route('**/messages/*', (route) =>
      route.request().method() === 'PUT' ? void held.push(route) : route.continue(),
    )
    const edit = aki.getByRole('textbox', { name: 'Edit message' })
    const letGo = async () => {
      await expect.poll(() => held.length).toBe(1)
      const [route] = held.splice(0)
      const [response] = await Promise.all([
        aki.waitForResponse((each) => each.request() === route!.request()),
        route!.continue(),
      ])
      await response.finished()
      // What the page does with the response, it has done before this.
      await untilDrawn(aki)
    }

    // The person cancels, and edits again.
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, first change')
    await edit.press('Enter')
    await edit.press('Escape')
    await edit.waitFor({ state: 'detached' })
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, second change')
    await letGo()
    expect(await edit.inputValue()).toBe('two, second change')
    await hasFocus(edit)

    // The person goes on in the text box of the channel.
    await edit.press('Enter')
    await composer(aki, 'pilot').click()
    await letGo()
    await edit.waitFor({ state: 'detached' })
    await article(aki, 'two, second change').waitFor()
    await hasFocus(composer(aki, 'pilot'))

    // The person opens another channel before the response.
    await composer(aki, 'pilot').press('ArrowUp')
    await edit.fill('two, third change')
    await edit.press('Enter')
    await openChannel(aki, 'harbour master')
    await letGo()
    await openChannel(aki, 'pilot')
    await article(aki, 'two, third change').waitFor()
    const elsewhere = await Person.signIn(site.baseUrl, 'aki@example.com')
    const [{ id }] = (await elsewhere.get(`/channels/${channelIdOf(aki)}/messages`)).body.messages.slice(-1)
    await elsewhere.put(`/messages/${id}`, { content: 'two, changed elsewhere' })
    await article(aki, 'two, changed elsewhere').waitFor()
    await composer(aki, 'pilot').press('ArrowUp')
    expect(await edit.inputValue()).toBe('two, changed elsewhere')
    await edit.press('Escape')

    // Other shortcuts work in an editor. The text that was not saved is there again.
    await act(aki, 'one', 'Edit')
    await edit.fill('one, unsaved')
    await edit.press('Control+k')
    await aki.getByRole('dialog').getByRole('combobox').fill('harbour')
    await aki.keyboard.press('Enter')
    await aki.getByRole('heading', { level: 1, name: 'harbour master' }).waitFor()
    await openChannel(aki, 'pilot')
    await act(aki, 'one', 'Edit')
    expect(await edit.inputValue()).toBe('one, unsaved')
    await edit.press('Escape')
    await act(aki, 'one', 'Edit')
    expect(await edit.inputValue()).toBe('one')
  })
}
