import { once } from 'node:events'
import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { testEnvironment } from '@parley/test/test-environment'
import { App, directMention, LogLevel } from '@slack/bolt'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Forwards requests, because `response_url` needs an address before the server has its port. */
const proxy = createServer((request, response) => {
  const { method, url, headers } = request
  request.pipe(
    forward(environment.baseUrl + url, { method, headers }, (received) => {
      response.writeHead(received.statusCode!, received.headers)
      received.pipe(response)
    }),
  )
}).listen(0, '127.0.0.1')
await once(proxy, 'listening')
afterAll(() => {
  proxy.close()
  proxy.closeAllConnections()
})

/** The bot of docs/bots.md. It uses Slack's own framework, configured only with our address. */
const environment = testEnvironment({
  integrations: { allowedNetworks: ['127.0.0.1'] },
  auth: { appUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` },
})
let app: App
let botId: string
beforeAll(async () => {
  const { ada } = environment.people
  const { bot } = (await ada.post('/bots', { userName: 'bolt' })).body
  botId = bot.id
  const { token } = (await ada.post(`/bots/${botId}/tokens`, { name: 'bolt', scopes: ['read', 'write'] })).body
  const { signingSecret } = (await ada.put(`/bots/${botId}`, { signingSecret: 'rotate' })).body
  app = new App({
    token,
    signingSecret,
    clientOptions: { slackApiUrl: `${environment.baseUrl}/slack/api/` },
    logLevel: LogLevel.ERROR,
  })
  app.command('/deploy', async ({ ack, command, say }) => {
    await ack()
    await say({
      text: `Deploy ${command.text}?`,
      blocks: [
        {
          type: 'actions',
          block_id: 'choice',
          elements: [
            { type: 'button', action_id: 'approve', value: command.text, text: { type: 'plain_text', text: 'Yes' } },
          ],
        },
      ],
    })
  })
  app.action('approve', async ({ ack, body, respond }) => {
    await ack()
    await respond({ text: `Deploying, says ${body.user.id}`, replace_original: true })
  })
  app.message('hello', async ({ message, say }) => {
    await say({ text: `Hi <@${'user' in message ? message.user : ''}>`, thread_ts: message.ts })
  })
  app.message(directMention, 'status', async ({ message, say }) => {
    await say({ text: 'All is well', thread_ts: message.ts })
  })
  const server = (await app.start(0)) as Server
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/slack/events`
  for (const response of [
    await ada.put(`/bots/${botId}`, { interactivityUrl: url }),
    await ada.post('/commands', { botId, name: 'deploy', url }),
    // Bolt answers the challenge only when the signature is right.
    await ada.post('/subscriptions', { botId, url, format: 'slack', events: ['message'] }),
  ])
    expect(response).toMatchObject({ status: 200 })
})
afterAll(() => app.stop())

test('a command, a button and a listener of Bolt work', async () => {
  const { ann, bob } = environment.people
  const { open } = environment.channel
  await ann.post(`/channels/${open.id}/commands`, { text: '/deploy api' })
  const isQuestion = ({ content }: { content: string }) => content.startsWith('Deploy api?')
  await environment.events.to(bob).toHave('NEW_MESSAGE', isQuestion)
  const asked = (await ann.get(`/channels/${open.id}/messages?limit=5`)).body.messages.find(isQuestion)
  expect(asked.author.id).toBe(botId)
  await ann.post(`/messages/${asked.id}/actions`, { blockId: 'choice', actionId: 'approve', value: 'api' })
  await environment.events.to(bob).toHave('UPDATE_MESSAGE', { id: asked.id, content: `Deploying, says ${ann.id}` })

  const greeting = await bob.says('hello there', open)
  await environment.events.to(ann).toHave('NEW_THREAD_REPLY', { parentMessageId: greeting.id })
  const { replies } = (await ann.get(`/messages/${greeting.id}/thread`)).body
  expect(replies).toMatchObject([{ content: `Hi @${bob.userName}`, mentions: [bob.id] }])
})

test('a listener for direct mentions hears a message that begins with the name of the bot', async () => {
  const { ann, bob } = environment.people
  const { userName } = (await ann.get(`/users?ids=${botId}`)).body.users[0]
  const question = await bob.says(`@${userName} status`, environment.channel.open)
  await environment.events.to(ann).toHave('NEW_THREAD_REPLY', { parentMessageId: question.id })
})
