import { uuidv7 } from '@parley/database'
import { house } from '@parley/test/house'
import { describe, expect, test } from 'vitest'

const home = house()

describe('POST and DELETE /messages/:messageId/reactions', () => {
  test('answer the whole message, in the order in which people reacted, and tell those who may read it', async () => {
    const { ann, bob, cat } = home.people
    const message = await ann.says('react to this', home.channel.secret)
    const path = `/messages/${message.id}/reactions`
    await bob.post(path, { reaction: '🎉' })
    await ann.post(path, { reaction: ' __proto__ ' })
    await ann.post(path, { reaction: 'a_b "c"' })
    const reply = await ann.post(path, { reaction: '🎉' })

    const reactions = JSON.parse(
      `{"🎉":["${bob.id}","${ann.id}"],"__proto__":["${ann.id}"],"a_b \\"c\\"":["${ann.id}"]}`,
    )
    expect(reply).toMatchObject({ status: 200, body: { message: { ...message, reactions, rev: message.rev + 4 } } })
    expect(Object.keys(reply.body.message.reactions)).toEqual(['🎉', '__proto__', 'a_b "c"'])
    const change = { messageId: message.id, channelId: home.channel.secret.id, userId: ann.id, reaction: '🎉' }
    await home.events.to(bob).toHave('NEW_REACTION', { ...change, rev: message.rev + 4 })
    await home.events.to(cat).neverHave('NEW_REACTION', { messageId: message.id })

    await ann.delete(path, { reaction: '__proto__' })
    await ann.delete(path, { reaction: 'a_b "c"' })
    const taken = await ann.delete(path, { reaction: '🎉' })
    expect(taken.body.message).toEqual({ ...message, reactions: { '🎉': [bob.id] }, rev: message.rev + 7 })
    await home.events.to(bob).toHave('DELETE_REACTION', change)
    const { body } = await bob.get(`/channels/${home.channel.secret.id}/messages?limit=1`)
    expect(body.messages).toEqual([taken.body.message])
  })

  test('change and tell nothing when it is as wanted already', async () => {
    const { ann } = home.people
    const message = await ann.says('once', home.channel.open)
    const path = `/messages/${message.id}/reactions`
    const first = await ann.post(path, { reaction: '+1' })
    expect((await ann.post(path, { reaction: '+1' })).body).toEqual(first.body)
    const taken = await ann.delete(path, { reaction: '+1' })
    expect((await ann.delete(path, { reaction: '+1' })).body).toEqual(taken.body)
    const recorded = await home.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%"messageId":"${message.id}"%`)
      .execute()
    expect(recorded).toHaveLength(2)
  })

  test('are for those who may read the message', async () => {
    const { ada, ann, bob, cat, nobody } = home.people
    const message = await ann.says('for few', home.channel.secret)
    const statuses = (method: 'post' | 'delete') =>
      Promise.all(
        [ada, bob, cat, nobody].map(
          async (person) => (await person[method](`/messages/${message.id}/reactions`, { reaction: 'x' })).status,
        ),
      )
    expect(await statuses('post')).toEqual([200, 200, 403, 401])
    expect(await statuses('delete')).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense']) {
      expect(await ann.post(`/messages/${id}/reactions`, { reaction: 'x' })).toMatchObject({ status: 404 })
    }
  })

  test.each([{}, { reaction: '' }, { reaction: '  ' }, { reaction: 'x'.repeat(65) }, { reaction: 7 }, '{', '[]'])(
    '%j is refused',
    async (body) => {
      const { ann } = home.people
      const message = await ann.says('x', home.channel.open)
      expect(await ann.post(`/messages/${message.id}/reactions`, body)).toMatchObject({ status: 400 })
      expect(await ann.delete(`/messages/${message.id}/reactions`, body)).toMatchObject({ status: 400 })
    },
  )
})
