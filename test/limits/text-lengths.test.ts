import { limits } from '@parley/contract'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
/** A character with one code point, two UTF-16 code units and four bytes, which NFKC does not change. */
const letter = '𐌰'

describe('the length of a text is counted in code points', () => {
  test.each<[string, number, (text: string) => Promise<{ status: number; body: unknown }>]>([
    ['the name of a person', limits.userName, (userName) => environment.people.ann.put('/users/me', { userName })],
    ['the name of a channel', limits.channelName, (name) => environment.people.ann.post('/channels', { name })],
    [
      'a topic',
      limits.topic,
      (topic) => environment.people.ann.put(`/channels/${environment.channel.open.id}`, { topic }),
    ],
    [
      'a message',
      limits.content,
      (content) => environment.people.ann.post(`/channels/${environment.channel.open.id}/messages`, { content }),
    ],
    [
      'what is searched for',
      limits.search,
      (q) => environment.people.ann.get(`/search/messages?limit=1&q=${encodeURIComponent(q)}`),
    ],
    ['the name of the server', limits.serverName, (name) => environment.people.ada.put('/server/settings', { name })],
    [
      'the name of a webhook',
      limits.webhookName,
      (name) => environment.people.ada.post('/webhooks', { name, channelId: environment.channel.open.id }),
    ],
  ])('of %s: %i', async (_what, most, send) => {
    expect(await send(letter.repeat(most))).toMatchObject({ status: 200 })
    expect(await send(letter.repeat(most + 1))).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/longer than/) },
    })
  })

  test('of a password: eight are enough, seven are not', async () => {
    const path = `/users/${environment.people.cat.id}/reset-password`
    expect(await environment.people.ada.post(path, { password: letter.repeat(7) })).toMatchObject({ status: 400 })
    expect(await environment.people.ada.post(path, { password: letter.repeat(8) })).toMatchObject({ status: 200 })
  })
})
