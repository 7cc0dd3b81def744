import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const image = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>').toString('base64')

describe('a nonce', () => {
  test.each<[string, object]>([
    ['a message', {}],
    ['a message with an image', { image: true }],
  ])(
    'of %s comes back in the reply and in its event, and nowhere else',
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

  test('of a direct message and of a reply comes back too', async () => {
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

  test('is in the answer to a repeated send as well', async () => {
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
    ['no text', 7],
    ['holding U+0000', 'a\0'],
  ])('%s is refused', async (_what, nonce) => {
    const reply = await environment.people.ann.post(`/channels/${environment.channel.open.id}/messages`, {
      content: 'x',
      nonce,
    })
    expect(reply).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  })

  test('of null is none', async () => {
    const reply = await environment.people.ann.post(`/channels/${environment.channel.open.id}/messages`, {
      content: 'x',
      nonce: null,
    })
    expect(reply.status).toBe(200)
    expect(reply.body.message).not.toHaveProperty('nonce')
  })
})
