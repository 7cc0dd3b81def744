import type { Message } from '@parley/contract'
import { Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function searchJourneys(server: TestServer) {
  type Query = Record<string, string>
  const search = (person: Person, query: Query) => person.get(`/search/messages?${new URLSearchParams(query)}`)
  const found = async (person: Person, query: Query) => {
    const { status, body } = await search(person, query)
    expect({ status, body }).toMatchObject({ status: 200 })
    return body.messages.map(({ id }: Message) => id)
  }
  const refused = async (person: Person, query: Query) => {
    const { status, body } = await search(person, query)
    expect(body).toMatchObject({ error: expect.any(String) })
    return status
  }

  test('an acknowledged message is found at once, in its current state, on every replica', async () => {
    const [ann, bob] = [await server.newcomer('ann'), await server.newcomer('bob')]
    const channel = await ann.creates({ name: server.unique('found') })
    const word = server.unique('東京needle')
    // Repeated, so that each replica is searched, at every stage of the worker.
    for (let n = 0; n < 6; n++) {
      const { id } = await ann.says(`before ${word.toUpperCase()} after`, channel)
      expect((await found(bob, { q: word }))[0]).toBe(id)
      await ann.put(`/messages/${id}`, { content: 'something else' })
      expect(await found(bob, { q: word, channelId: channel.id })).toEqual([])
      const { reply } = (await bob.post(`/messages/${id}/thread`, { content: word })).body
      expect(await found(ann, { q: word, authorId: bob.id })).toEqual([reply.id])
      await ann.delete(`/messages/${id}`)
      expect(await found(ann, { q: word })).toEqual([])
    }
  })

  test('search uses the current names and the current rights', async () => {
    const [ann, bob, admin] = [await server.newcomer('ann'), await server.newcomer('bob'), await server.admin()]
    const channel = await ann.creates({ name: server.unique('told') })
    const { id } = await ann.says('hello', channel)
    const [first, second] = [server.unique('Ærøskøbing'), server.unique('Straße')]
    for (const name of [first, second]) {
      expect((await ann.put('/users/me', { userName: name })).status).toBe(200)
      expect(await found(bob, { q: name.toUpperCase() })).toEqual([id])
    }
    expect(await found(bob, { q: first })).toEqual([])

    await ann.put(`/channels/${channel.id}`, { isPrivate: true })
    expect(await found(bob, { q: second })).toEqual([])
    expect(await refused(bob, { q: second, channelId: channel.id })).toBe(403)
    for (const reader of [ann, admin]) expect(await found(reader, { q: second, channelId: channel.id })).toEqual([id])
  })

  test('a conversation is searched by its two people alone', async () => {
    const [ann, bob, cat] = [await server.newcomer('ann'), await server.newcomer('bob'), await server.newcomer('cat')]
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const word = server.unique('whisper')
    const { message } = (await ann.post(`/conversations/${conversation.id}/messages`, { content: word })).body
    expect(await found(bob, { q: word })).toEqual([message.id])
    for (const outsider of [cat, await server.admin()]) {
      expect(await found(outsider, { q: word })).toEqual([])
      expect(await refused(outsider, { q: word, conversationId: conversation.id })).toBe(403)
    }
  })

  test('wrong requests are refused', async () => {
    const ann = await server.newcomer('ann')
    expect(await refused(ann, {})).toBe(400)
    expect(await refused(ann, { q: ' \t ' })).toBe(400)
    expect(await refused(ann, { q: 'a', limit: '0' })).toBe(400)
    expect(await refused(ann, { q: 'a', channelId: '00000000-0000-7000-8000-000000000000' })).toBe(404)
    expect(await refused(Person.nobody(server.baseUrl), { q: 'a' })).toBe(401)
  })
}
