import { uuidv7 } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment({ messages: { maxReactions: 5 } })

describe('POST and DELETE /messages/:messageId/reactions', () => {
  test('return the whole message, in the order of reactions, with an event for its readers', async () => {
    const { ann, bob, cat } = environment.people
    const message = await ann.says('react to this', environment.channel.secret)
    const path = `/messages/${message.id}/reactions`
    await bob.post(path, { reaction: '🎉' })
    await ann.post(path, { reaction: ' __proto__ ' })
    await ann.post(path, { reaction: 'a_b "c"' })
    const response = await ann.post(path, { reaction: '🎉' })

    const reactions = JSON.parse(
      `{"🎉":["${bob.id}","${ann.id}"],"__proto__":["${ann.id}"],"a_b \\"c\\"":["${ann.id}"]}`,
    )
    expect(response).toMatchObject({ status: 200, body: { message: { ...message, reactions, rev: message.rev + 4 } } })
    expect(Object.keys(response.body.message.reactions)).toEqual(['🎉', '__proto__', 'a_b "c"'])
    const change = { messageId: message.id, channelId: environment.channel.secret.id, userId: ann.id, reaction: '🎉' }
    await environment.events.to(bob).toHave('NEW_REACTION', { ...change, rev: message.rev + 4 })
    await environment.events.to(cat).neverHave('NEW_REACTION', { messageId: message.id })

    await ann.delete(path, { reaction: '__proto__' })
    await ann.delete(path, { reaction: 'a_b "c"' })
    const taken = await ann.delete(path, { reaction: '🎉' })
    expect(taken.body.message).toEqual({ ...message, reactions: { '🎉': [bob.id] }, rev: message.rev + 7 })
    await environment.events.to(bob).toHave('DELETE_REACTION', change)
    const { body } = await bob.get(`/channels/${environment.channel.secret.id}/messages?limit=1`)
    expect(body.messages).toEqual([taken.body.message])
  })

  test('change nothing and send no event when nothing is to change', async () => {
    const { ann } = environment.people
    const message = await ann.says('once', environment.channel.open)
    const path = `/messages/${message.id}/reactions`
    const first = await ann.post(path, { reaction: '+1' })
    expect(first.body.isChanged).toBe(true)
    expect((await ann.post(path, { reaction: '+1' })).body).toEqual({ ...first.body, isChanged: false })
    const taken = await ann.delete(path, { reaction: '+1' })
    expect((await ann.delete(path, { reaction: '+1' })).body).toEqual({ ...taken.body, isChanged: false })
    const recorded = await environment.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%"messageId":"${message.id}"%`)
      .execute()
    expect(recorded).toHaveLength(2)
  })

  test('a message has at most the allowed number of different reactions, also with concurrent requests', async () => {
    const { ann, bob } = environment.people
    const message = await ann.says('loved', environment.channel.open)
    const path = `/messages/${message.id}/reactions`
    const wishes = Array.from({ length: 20 }, (_, n) => `r${n}`)
    const responses = await Promise.all(wishes.map((reaction, n) => (n % 2 ? ann : bob).post(path, { reaction })))
    const refused = responses.filter(({ status }) => status === 400)
    expect([responses.filter(({ status }) => status === 200).length, refused.length]).toEqual([5, 15])
    const error = 'A message can have at most 5 different reactions'
    expect(refused[0]!.body).toMatchObject({ error, code: 'invalid_request' })

    const { body } = await ann.get(`/channels/${environment.channel.open.id}/messages?limit=1`)
    const kept = Object.keys(body.messages[0].reactions)
    expect(kept).toHaveLength(5)
    for (const reaction of kept) {
      for (const person of [ann, bob]) expect(await person.post(path, { reaction })).toMatchObject({ status: 200 })
    }
    for (const person of [ann, bob]) await person.delete(path, { reaction: kept[0] })
    expect(await ann.post(path, { reaction: 'another' })).toMatchObject({ status: 200 })
    expect(await ann.post(path, { reaction: 'one more' })).toMatchObject({ status: 400 })
  })

  test('counts the characters of a reaction, not its UTF-16 code units', async () => {
    const { ann } = environment.people
    const { id } = await ann.says('long', environment.channel.open)
    const most = '👍'.repeat(64)
    expect((await ann.post(`/messages/${id}/reactions`, { reaction: most })).body.message.reactions).toEqual({
      [most]: [ann.id],
    })
    expect(await ann.post(`/messages/${id}/reactions`, { reaction: `${most}👍` })).toMatchObject({ status: 400 })
  })

  test('are for those who may read the message', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const message = await ann.says('for few', environment.channel.secret)
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
      const { ann } = environment.people
      const message = await ann.says('x', environment.channel.open)
      expect(await ann.post(`/messages/${message.id}/reactions`, body)).toMatchObject({ status: 400 })
      expect(await ann.delete(`/messages/${message.id}/reactions`, body)).toMatchObject({ status: 400 })
    },
  )
})
