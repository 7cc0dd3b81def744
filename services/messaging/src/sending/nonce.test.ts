import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const image = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>').toString('base64')

describe('a nonce', () => {
  test.each<[string, object]>([
    ['a message', {}],
    ['a message with an image', { image: true }],
  ])(
    'of %s is in the response and in the event, and nowhere else',
    async (_what, { image: withImage }: { image?: boolean }) => {
      const { ann, bob } = environment.people
      const path = `/channels/${environment.channel.open.id}/messages`
      const images = withImage
        ? [(await ann.post(`${path}/image`, { filename: 'a.svg', image })).body.filename]
        : undefined
      const nonce = 'tab 1: "första" \\ 😀'
      const { status, body } = await ann.post(path, { content: 'hello', images, nonce })
      expect({ status, nonce: body.message.nonce }).toEqual({ status: 200, nonce })
      await environment.events.to(bob).toHave('NEW_MESSAGE', body.message)

      expect((await bob.get(`/messages/${body.message.id}`)).body.message).not.toHaveProperty('nonce')
      const { body: edited } = await ann.put(`/messages/${body.message.id}`, { content: 'hello again' })
      expect(edited.message).not.toHaveProperty('nonce')
    },
  )

  test('of a direct message or of a thread reply is in the response and in the event too', async () => {
    const { ann, bob } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const direct = await ann.post(`/conversations/${conversation.id}/messages`, { content: 'hello', nonce: 'd' })
    expect(direct.body.message.nonce).toBe('d')
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { id: direct.body.message.id, nonce: 'd' })

    const parent = await ann.says('parent', environment.channel.open)
    const { body } = await ann.post(`/messages/${parent.id}/thread`, { content: 'reply', nonce: 'r' })
    expect(body.reply.nonce).toBe('r')
    await environment.events.to(bob).toHave('NEW_THREAD_REPLY', { parentMessageId: parent.id, reply: body.reply })
  })

  test('is also in the response to a repeated send', async () => {
    const { ann } = environment.people
    const send = (path: string) =>
      ann.post(path, { content: 'once', nonce: 'n' }, { 'Idempotency-Key': `nonce of ${path}` })
    const parent = await ann.says('parent', environment.channel.open)
    for (const path of [`/channels/${environment.channel.open.id}/messages`, `/messages/${parent.id}/thread`]) {
      const first = await send(path)
      expect((first.body.message ?? first.body.reply).nonce).toBe('n')
      expect(await send(path)).toMatchObject({ status: 200, body: first.body })
    }
  })

  test.each([
    ['empty', ''],
    ['longer than 64 characters', 'x'.repeat(65)],
    ['not a text', 7],
    ['with U+0000', 'a\0'],
  ])('%s is refused', async (_what, nonce) => {
    const response = await environment.people.ann.post(`/channels/${environment.channel.open.id}/messages`, {
      content: 'x',
      nonce,
    })
    expect(response).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  })

  test('that is null counts as missing', async () => {
    const response = await environment.people.ann.post(`/channels/${environment.channel.open.id}/messages`, {
      content: 'x',
      nonce: null,
    })
    expect(response.status).toBe(200)
    expect(response.body.message).not.toHaveProperty('nonce')
  })
})
