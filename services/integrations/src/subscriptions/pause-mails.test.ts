import { openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startsApp } from '../apps/app.testing.ts'
import { createsBot } from '../bot.testing.ts'

const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({
  integrations: { allowedNetworks: ['127.0.0.1'] },
  email: { host: '127.0.0.1', port: mailbox.port },
})

let bot: Person
beforeAll(async () => {
  bot = await createsBot(environment, 'receiver')
})

/** Another admin than ada, for one test. */
let nora: Person
beforeEach(async () => {
  const { ada } = environment.people
  nora = await Person.signIn(environment.baseUrl, 'nora@example.com')
  await ada.put(`/users/${nora.id}/role`, { role: 'admin' })
  mailbox.letters.length = 0
  return async () => void (await ada.delete(`/users/${nora.id}`))
})

/** A receiver answers 410 to an event of a subscription that this person created. Returns who gets a mail about the pause. */
async function mailedWhenPaused(createdBy: Person, meanwhile: () => Promise<unknown> = async () => {}) {
  const gone = await startsApp(() => 410)
  const wish = { url: gone.url, events: ['NEW_MESSAGE'], botId: bot.id }
  const { status } = await createdBy.post('/subscriptions', wish)
  expect(status).toBe(200)
  await meanwhile()
  await environment.people.bob.says('for a receiver that is gone', environment.channel.open)
  const { db } = environment.deps
  const pauses = db.selectFrom('subscriptions').select('isPaused').where('url', '=', gone.url)
  await expect.poll(() => pauses.executeTakeFirst(), { timeout: 20_000 }).toEqual({ isPaused: true })
  const mails = db.selectFrom('jobs').select('id').where('name', '=', 'send-mail')
  await expect.poll(() => mails.execute(), { timeout: 20_000 }).toEqual([])
  return mailbox.letters
    .filter(({ source }) => source.includes(gone.url))
    .map(({ to }) => to)
    .sort()
}

test('the admin who created a paused subscription gets a mail', async () => {
  expect(await mailedWhenPaused(environment.people.ada)).toEqual(['ada@example.com'])
})

test('all admins get the mail when a bot created the subscription', async () => {
  expect(await mailedWhenPaused(bot)).toEqual(['ada@example.com', 'nora@example.com'])
})

test('a deactivated admin gets no mail', async () => {
  const deactivates = () => environment.people.ada.put(`/users/${nora.id}/active`, { isActive: false })
  expect(await mailedWhenPaused(bot, deactivates)).toEqual(['ada@example.com'])
})

test.each<[string, (id: string) => Promise<{ status: number }>]>([
  ['is deactivated', (id) => environment.people.ada.put(`/users/${id}/active`, { isActive: false })],
  ['is removed', (id) => environment.people.ada.delete(`/users/${id}`)],
  ['is no longer an admin', (id) => environment.people.ada.put(`/users/${id}/role`, { role: 'member' })],
])('the other admins get the mail when the creator %s', async (_, change) => {
  const changes = async () => expect(await change(nora.id)).toMatchObject({ status: 200 })
  expect(await mailedWhenPaused(nora, changes)).toEqual(['ada@example.com'])
})
