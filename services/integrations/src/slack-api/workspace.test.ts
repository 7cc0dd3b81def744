import { randomUUID } from 'node:crypto'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'
import { slackClient, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()

test('the workspace has the name and the address of the server', async () => {
  const { ada, ann } = environment.people
  const slack = slackClient(environment, ann.token)
  await ada.put('/server/settings', { name: 'Acme Chat' })
  const url = `${environment.deps.config.auth.appUrl}/`
  expect((await slack.team.info()).team).toMatchObject({ id: 'parley', name: 'Acme Chat', url })
  expect(await slack.auth.test()).toMatchObject({ team: 'Acme Chat', team_id: 'parley', url })
  expect(await wordOf(slack.team.info({ team: 'parley' }))).toBe('ok')
  expect(await wordOf(slack.team.info({ team: 'T012AB3C4' }))).toBe('team_not_found')
})

test('a bot is described by the id that its messages have', async () => {
  const { ann, bob } = environment.people
  const slack = slackClient(environment, ann.token)
  const bot = await createsBot(environment, 'helper')
  const posted = await slackClient(environment, bot.token).chat.postMessage({ channel: '#open', text: 'Hello' })
  const described = { id: bot.id, user_id: bot.id, app_id: bot.id, name: 'helper', deleted: false, icons: {} }
  expect((await slack.bots.info({ bot: posted.message!.bot_id! })).bot).toEqual(described)
  for (const other of [bob.id, randomUUID(), 'B0NOBODY', `webhook:${randomUUID()}`])
    expect(await wordOf(slack.bots.info({ bot: other }))).toBe('bot_not_found')
  expect(await wordOf(slack.apiCall('bots.info', {}))).toBe('bot_not_found')
})
