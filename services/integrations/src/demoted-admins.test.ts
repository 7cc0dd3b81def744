import { randomUUID } from 'node:crypto'
import { type HttpResponse, Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'
import { testCommands } from './commands/commands.testing.ts'

const environment = testEnvironment()
const { bot, adds } = testCommands(environment)

const wish = { url: 'https://app.example/', events: ['NEW_MESSAGE'] }
const change = { description: 'Changed' }

test.each<[string, (eve: Person, ids: Record<'command' | 'subscription', string>) => Promise<HttpResponse>]>([
  ['POST /commands', (eve) => eve.post('/commands', { botId: bot.id, name: 'late', url: wish.url })],
  ['PUT /commands/:commandId', (eve, { command }) => eve.put(`/commands/${command}`, change)],
  ['DELETE /commands/:commandId', (eve, { command }) => eve.delete(`/commands/${command}`)],
  ['POST /subscriptions', (eve) => eve.post('/subscriptions', { ...wish, botId: bot.id })],
  ['PUT /subscriptions/:id', (eve, { subscription }) => eve.put(`/subscriptions/${subscription}`, { isPaused: true })],
  ['DELETE /subscriptions/:id', (eve, { subscription }) => eve.delete(`/subscriptions/${subscription}`)],
  ['POST …/replay', (eve, { subscription }) => eve.post(`/subscriptions/${subscription}/replay`, { since: 1 })],
])('%s is refused to an admin who is demoted while it waits', async (_, ask) => {
  const { ada } = environment.people
  const eve = await Person.signIn(environment.baseUrl, `${randomUUID()}@example.com`)
  await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
  const { id: command } = await adds('https://app.example/run')
  const { subscription } = (await ada.post('/subscriptions', { ...wish, botId: bot.id })).body
  const { response } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', eve.id).forUpdate().execute()
    const response = ask(eve, { command, subscription: subscription.id })
    // Without a wait for the row the response would be there by now.
    await Promise.race([somebodyWaitsFor(trx), response])
    await trx.updateTable('users').set({ isAdmin: false }).where('id', '=', eve.id).execute()
    return { response }
  })
  expect((await response).status).toBe(403)
})
