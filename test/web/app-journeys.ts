import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Person } from '../src/person.ts'
import type { Site } from './site.ts'
import { article, channels, composer, createChannel, hasFocus, isAccessible, say } from './visitors.ts'

/** Starts a server beside the one that is tested, until the end of the test. Returns its address. */
async function listenHere(onRequest: RequestListener) {
  const server = createServer(onRequest)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Starts a program that handles commands and clicks, as an app does. */
const startApp = (answer: (form: URLSearchParams) => object | number) =>
  listenHere(async (request, response) => {
    const given = answer(new URLSearchParams(await text(request)))
    if (typeof given === 'number') response.writeHead(given).end()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(given))
  })

const plain = (text: string) => ({ type: 'plain_text', text })
const button = (actionId: string) => ({ type: 'button', action_id: actionId, text: plain(actionId) })

/** Tests commands, buttons, link previews, and the page of guests. The server must be allowed to call this machine. */
export function appJourneys(site: Site) {
  const { signIn } = site

  /** Creates a bot whose buttons are handled by the program at `url`. */
  async function createBot(userName: string, url: string) {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { bot } = (await owner.post('/bots', { userName })).body
    await owner.put(`/bots/${bot.id}`, { interactivityUrl: url })
    return { owner, bot }
  }

  /** Posts a message with these elements as a bot, through Slack's API. */
  async function postElements(
    { owner, bot }: Awaited<ReturnType<typeof createBot>>,
    channel: string,
    elements: object[],
  ) {
    const { token } = (await owner.post(`/bots/${bot.id}/tokens`, { name: 'poster', scopes: ['write'] })).body
    const said = await Person.nobody(site.baseUrl).post(
      '/slack/api/chat.postMessage',
      { channel, text: 'May they pass?', blocks: [{ type: 'actions', elements }] },
      { authorization: `Bearer ${token}` },
    )
    expect(said.body).toMatchObject({ ok: true })
  }

  test('commands are suggested, create no message, and only the person sees the answer', async () => {
    const url = await startApp((form) => ({ text: `deploying ${form.get('text')}` }))
    const admin = await signIn('admin', '/admin/commands')
    await (await Person.signIn(site.baseUrl, 'admin@example.com')).post('/bots', { userName: 'helm' })
    await admin.reload()
    await admin.getByRole('button', { name: 'Create command' }).click()
    const creating = admin.getByRole('dialog', { name: 'Create command' })
    await creating.getByLabel('Command').fill('/deploy')
    await creating.getByRole('combobox', { name: 'Bot' }).selectOption('helm')
    await creating.getByLabel('URL').fill(url)
    await creating.getByLabel('What comes after it').fill('[service]')
    await creating.getByRole('button', { name: 'Create', exact: true }).click()
    expect(await creating.getByRole('textbox', { name: 'Signing secret' }).inputValue()).not.toBe('')
    await creating.getByRole('button', { name: 'Close' }).click()
    await admin.getByRole('row', { name: /^\/deploy \[service\]/ }).waitFor()

    const kim = await signIn('kim')
    await createChannel(kim, 'locker')
    const box = composer(kim, 'locker')
    await box.pressSequentially('/dep')
    await kim.getByRole('option', { name: /^\/deploy \[service\]/ }).waitFor()
    await box.press('Enter')
    expect(await box.inputValue()).toBe('/deploy ')
    await box.pressSequentially('api')
    await box.press('Enter')
    const told = kim.getByRole('region', { name: 'Only visible to you' }).getByRole('article', { name: /helm BOT/ })
    await told.getByText('deploying api').waitFor()
    await isAccessible(kim)
    expect(await box.inputValue()).toBe('')
    await expect.poll(() => kim.locator('[aria-live=polite]').textContent()).toContain('deploying api')
    await box.press('Shift+Tab')
    await told.getByRole('button', { name: 'Dismiss' }).press('Enter')
    await told.waitFor({ state: 'detached' })
    await hasFocus(box)

    await box.fill('/unheard of')
    await box.press('Enter')
    await kim.getByRole('region', { name: 'Only visible to you' }).getByText('There is no command').waitFor()
    // The person can correct it.
    await expect.poll(() => box.inputValue()).toBe('/unheard of')
    await kim.setViewportSize({ width: 1280, height: 400 })
    await box.fill('/help')
    await box.press('Enter')
    const answers = kim.getByRole('region', { name: 'Only visible to you' })
    await answers.getByRole('article').nth(1).waitFor()
    const hidden = () =>
      answers.evaluate((list) => list.getBoundingClientRect().top - list.lastElementChild!.getBoundingClientRect().top)
    await expect.poll(hidden).toBeLessThan(1)
    await kim.setViewportSize({ width: 1280, height: 800 })
    await box.fill('/etc/hosts is a path')
    await box.press('Enter')
    await article(kim, '/etc/hosts is a path').waitFor()
    await box.fill('/topic what is kept below')
    await box.press('Enter')
    await kim.getByRole('main').locator('header').getByText('what is kept below').waitFor()
    await kim.reload()
    await article(kim, '/etc/hosts is a path').waitFor()
    expect(await kim.getByRole('main').getByText('deploying api').count()).toBe(0)
  })

  test('a click on a button of a message is sent to its app, and an error is shown when that fails', async () => {
    let answer: object | number = { replace_original: true, text: 'Approved' }
    const url = await startApp(() => answer)
    const app = await createBot('gate', url)
    const { owner, bot } = app
    const lea = await signIn('lea')
    await createChannel(lea, 'gangway')
    await postElements(app, '#gangway', [button('approve'), button('refuse')])

    answer = 500
    await article(lea, 'approve').getByRole('button', { name: 'refuse' }).click()
    await lea.getByRole('region', { name: 'Only visible to you' }).getByText('The button of gate failed').waitFor()
    await owner.put(`/bots/${bot.id}`, { interactivityUrl: '' })
    await article(lea, 'approve').getByRole('button', { name: 'refuse' }).click()
    await article(lea, 'approve').getByRole('alert').waitFor()
    await owner.put(`/bots/${bot.id}`, { interactivityUrl: url })
    answer = { replace_original: true, text: 'Approved' }
    await article(lea, 'approve').getByRole('button', { name: 'approve' }).click()
    await article(lea, 'Approved').waitFor()
  })

  test('a button asks the question of its app before its click is sent', async () => {
    const clicks: string[] = []
    const url = await startApp((form) => {
      clicks.push(JSON.parse(form.get('payload')!).actions[0].action_id)
      return { replace_original: true, text: 'Deployed' }
    })
    const app = await createBot('rocket', url)
    const rafa = await signIn('rafa')
    await createChannel(rafa, 'launch pad')
    const confirm = {
      title: plain('Deploy to production'),
      text: { type: 'mrkdwn', text: 'There is *no way back*.' },
      confirm: plain('Launch'),
      deny: plain('Not now'),
    }
    await postElements(app, '#launch pad', [{ ...button('Deploy'), confirm }])

    const deploy = article(rafa, 'Deploy').getByRole('button', { name: 'Deploy', exact: true })
    const dialog = rafa.getByRole('dialog', { name: 'Deploy to production' })
    await deploy.click()
    await dialog.getByText('no way back').waitFor()
    await isAccessible(rafa)
    await dialog.getByRole('button', { name: 'Not now' }).click()
    await dialog.waitFor({ state: 'detached' })
    await deploy.press('Enter')
    await dialog.getByRole('button', { name: 'Launch' }).click()
    await article(rafa, 'Deployed').waitFor()
    expect(clicks).toEqual(['Deploy'])
  })

  test('buttons of an ephemeral message can replace and remove it', async () => {
    const asked = { type: 'section', text: plain('Deploy now?') }
    const answers: Record<string, object> = {
      '': { blocks: [asked, { type: 'actions', elements: [button('deploy'), button('later')] }] },
      deploy: { replace_original: true, text: 'Really?', blocks: [{ type: 'actions', elements: [button('really')] }] },
      really: { delete_original: true },
    }
    const url = await startApp((form) => {
      const click = form.get('payload')
      return answers[click === null ? '' : JSON.parse(click).actions[0].action_id]!
    })
    const { owner, bot } = await createBot('crane', url)
    await owner.post('/commands', { botId: bot.id, name: 'lift', url })
    const noa = await signIn('noa')
    await createChannel(noa, 'crane deck')
    await composer(noa, 'crane deck').fill('/lift')
    await composer(noa, 'crane deck').press('Enter')
    const told = noa.getByRole('region', { name: 'Only visible to you' })
    await told.getByText('Deploy now?').waitFor()
    await isAccessible(noa)
    await told.getByRole('button', { name: 'deploy' }).click()
    await told.getByRole('button', { name: 'really' }).waitFor()
    expect(await told.getByRole('article').count()).toBe(1)
    expect(await told.getByText('Deploy now?').count()).toBe(0)
    await told.getByRole('button', { name: 'really' }).click()
    await told.waitFor({ state: 'detached' })
  })

  test('after the removal of link previews, the focus of a person with a keyboard is on the message', async () => {
    const url = await listenHere((_, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Tide tables</title>'),
    )
    const ilse = await signIn('ilse')
    await createChannel(ilse, 'tides')
    await say(ilse, 'tides', `see ${url}`)
    const message = article(ilse, 'see ')
    await message.getByRole('link', { name: 'Tide tables' }).waitFor()
    const remove = message.getByRole('button', { name: 'Remove the previews' })
    await ilse.keyboard.press('Shift+Tab')
    await remove.press('Enter')
    await remove.waitFor({ state: 'detached' })
    await hasFocus(message)
  })

  test('guests see no actions that they may not do', async () => {
    const owner = await Person.signIn(site.baseUrl, 'admin@example.com')
    const { userId } = (await owner.post('/users/add', { email: 'mia@example.com', role: 'guest' })).body
    const { channel } = (await owner.post('/channels', { name: 'quarterdeck', members: [userId] })).body
    const mia = await signIn('mia', `/c/${channel.id}`)
    const box = composer(mia, 'quarterdeck')
    await box.pressSequentially('@mi')
    await mia.getByRole('option', { name: /@mia/ }).waitFor()
    await box.fill('@')
    expect(await mia.getByRole('option', { name: /@channel|@here/ }).count()).toBe(0)
    await box.fill('')
    for (const name of ['Create channel', 'Browse channels'])
      expect(await channels(mia).getByRole('button', { name }).count()).toBe(0)
    await mia.getByRole('button', { name: 'Channel settings' }).click()
    const settings = mia.getByRole('dialog', { name: 'Channel settings' })
    await settings.getByText('mia').waitFor()
    expect(await settings.getByRole('region', { name: 'Groups' }).count()).toBe(0)
    expect(await settings.getByRole('alert').count()).toBe(0)
  })
}
