import { expect, test } from 'vitest'
import { tokensInMemory } from '../session/tokens.ts'
import { createClient } from './client.ts'
import { requestForPlace } from './request-for-place.ts'

const requested: string[] = []
const client = createClient({
  baseUrl: 'https://chat.example.com',
  tokens: tokensInMemory({ accessToken: 'token' }),
  fetch: async (url, options) => {
    requested.push(`${options?.method} ${new URL(String(url)).pathname}`)
    return Response.json({})
  },
})

test.each([
  ['channel-1', 'PUT /channels/channel-1/read', 'GET /channels/channel-1/messages/image/a.png'],
  ['dm:1:2', 'PUT /conversations/dm%3A1%3A2/read', 'GET /conversations/dm%3A1%3A2/messages/image/a.png'],
])('requests for the place %s are sent to its own paths', async (id, ...expected) => {
  requested.length = 0
  await requestForPlace(client, 'PUT /channels/:channelId/read', id, { body: { seq: 1 } })
  const params = { filename: 'a.png' }
  await requestForPlace(client, 'GET /channels/:channelId/messages/image/:filename', id, { params })
  expect(requested).toEqual(expected)
})
