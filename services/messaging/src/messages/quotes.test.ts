import { randomUUID } from 'node:crypto'
import { testEnvironment } from '@parley/test/test-environment'
import sharp from 'sharp'
import { expect, test } from 'vitest'

const environment = testEnvironment()

test('a message of another channel or conversation cannot be quoted, and the refusal does not reveal whether it exists', async () => {
  const { ann, bob, cat } = environment.people
  const { open, secret } = environment.channel
  const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
  const direct = `/conversations/${conversation.id}/messages`
  const inSecret = await ann.says('known to few', secret)
  const reply = (await ann.post(`/messages/${inSecret.id}/thread`, { content: 'known to few' })).body.reply
  const inDirect = (await ann.post(direct, { content: 'known to two' })).body.message
  const deleted = await ann.says('known to nobody', open)
  await ann.delete(`/messages/${deleted.id}`)
  const dot = await sharp({ create: { width: 2, height: 2, channels: 3, background: '#246' } })
    .png()
    .toBuffer()

  for (const person of [ann, cat]) {
    const own = await person.says('own', open)
    const ownReply = (await person.post(`/messages/${own.id}/thread`, { content: 'own' })).body.reply
    const place = `/channels/${open.id}/messages`
    const quoting = async (quotedMessageId: string) => {
      const body = { content: 'quoting', quotedMessageId }
      const image = await person.uploadsImage(place, 'dot.png', dot)
      const responses = await Promise.all([
        person.post(place, body),
        person.post(place, { ...body, images: [image] }),
        person.put(`/messages/${own.id}`, body),
        person.post(`/messages/${own.id}/thread`, body),
        person.put(`/messages/${own.id}/thread/${ownReply.id}`, body),
      ])
      return responses.map(({ status, body: { error } }) => [status, error])
    }
    const unknown = await quoting(randomUUID())
    expect(unknown.map(([status]) => status)).toEqual([400, 400, 400, 400, 400])
    for (const { id } of [inSecret, reply, inDirect, deleted]) expect(await quoting(id)).toEqual(unknown)
  }
  expect(await ann.post(direct, { content: 'x', quotedMessageId: inSecret.id })).toMatchObject({ status: 400 })
  expect(await ann.post(direct, { content: 'x', quotedMessageId: inDirect.id })).toMatchObject({ status: 200 })
})
