import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const unknown = uuidv7()

describe('GET /channels/:channelId/messages', () => {
  test('returns the newest page oldest first, and earlier pages by message id', async () => {
    const { ann, bob } = environment.people
    const channel = await ann.creates({ name: 'paging' })
    const sent: Message[] = []
    for (let i = 1; i <= 7; i++) sent.push(await (i % 2 ? ann : bob).says(`${i}`, channel))
    const page = async (query: string) =>
      (await bob.get(`/channels/${channel.id}/messages${query}`)).body.messages.map((each: Message) => each.content)

    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual(sent)
    expect(await page('?limit=3')).toEqual(['5', '6', '7'])
    expect(await page(`?limit=3&before=${sent[4]!.id}`)).toEqual(['2', '3', '4'])
    expect(await page(`?before=${sent[0]!.id}`)).toEqual([])
    expect(await page('?limit=100000')).toHaveLength(7)
  })

  test('skips deleted messages, but accepts them as cursors', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: 'tombstones' })
    const [one, two, three] = [await ann.says('1', channel), await ann.says('2', channel), await ann.says('3', channel)]
    expect((await ann.delete(`/messages/${two.id}`)).status).toBe(200)
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([one, three])
    expect((await ann.get(`/channels/${channel.id}/messages?before=${two.id}`)).body.messages).toEqual([one])
  })

  test.each(['limit=0', 'limit=-1', 'limit=1.5', 'limit=ten', 'before=nonsense', `before=${unknown}`])(
    '?%s is refused',
    async (query) => {
      const { ann } = environment.people
      expect(await ann.get(`/channels/${environment.channel.general.id}/messages?${query}`)).toMatchObject({
        status: 400,
        body: { error: expect.any(String) },
      })
    },
  )

  test('a cursor of another channel is refused', async () => {
    const { ann } = environment.people
    const elsewhere = await ann.says('elsewhere', environment.channel.open)
    expect(await ann.get(`/channels/${environment.channel.general.id}/messages?before=${elsewhere.id}`)).toMatchObject({
      status: 400,
    })
  })

  test('is for those who may read the channel', async () => {
    const { ada, bob, cat, nobody } = environment.people
    const path = `/channels/${environment.channel.secret.id}/messages`
    const statuses = [ada, bob, cat, nobody].map(async (person) => (await person.get(path)).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
    expect(await bob.get(`/channels/${unknown}/messages`)).toMatchObject({ status: 404 })
    expect(await bob.get('/channels/nonsense/messages')).toMatchObject({ status: 404 })
  })
})

describe('PUT /messages/:messageId', () => {
  test('changes the content, with new mentions, and sends an event to the channel', async () => {
    const { ann, bob, cat } = environment.people
    const quoted = await ann.says('quoted', environment.channel.secret)
    const message = await ann.says(`hello @${bob.userName}`, environment.channel.secret)
    expect(message.mentions).toEqual([bob.id])

    const body = { content: `hello @${cat.userName} and @here`, quotedMessageId: quoted.id, mentions: ['nonsense'] }
    const response = await ann.put(`/messages/${message.id}`, body)
    const edited = {
      ...message,
      content: body.content,
      quotedMessageId: quoted.id,
      mentions: [cat.id, '@here'],
      updatedAt: expect.any(Number),
      rev: message.rev + 1,
    }
    expect(response).toMatchObject({ status: 200, body: { message: edited } })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', response.body.message)
    await environment.events.to(cat).neverHave('UPDATE_MESSAGE', { id: message.id })
    const { body: listed } = await bob.get(`/channels/${environment.channel.secret.id}/messages`)
    expect(listed.messages).toContainEqual(response.body.message)
  })

  test('keeps the quote unless another one, or none, is given', async () => {
    const { ann } = environment.people
    const quoted = await ann.says('quoted', environment.channel.open)
    const path = `/channels/${environment.channel.open.id}/messages`
    const { body } = await ann.post(path, { content: 'x', quotedMessageId: quoted.id })
    const edit = async (change: object) =>
      (await ann.put(`/messages/${body.message.id}`, { content: 'y', ...change })).body.message.quotedMessageId
    expect(await edit({})).toBe(quoted.id)
    expect(await edit({ quotedMessageId: null })).toBe(quoted.id)
    expect(await edit({ quotedMessageId: '' })).toBeNull()
  })

  test.each([
    ['no blocks', []],
    ['blocks without words', [{ type: 'divider' }]],
  ])('with %s the content stays as it was written', async (_, blocks) => {
    const { ann } = environment.people
    const path = `/channels/${environment.channel.open.id}/messages`
    const { message } = (await ann.post(path, { content: 'before', blocks })).body
    expect(message.content).toBe('before')
    const edited = await ann.put(`/messages/${message.id}`, { content: 'after', blocks })
    expect(edited.body.message.content).toBe('after')
  })

  test('is for the author only, not even for admins', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const message = await ann.says('mine', environment.channel.secret)
    const statuses = [ada, bob, cat, nobody].map(
      async (person) => (await person.put(`/messages/${message.id}`, { content: 'theirs' })).status,
    )
    expect(await Promise.all(statuses)).toEqual([403, 403, 403, 401])
    expect(await ann.put(`/messages/${unknown}`, { content: 'x' })).toMatchObject({ status: 404 })
    expect(await ann.put('/messages/nonsense', { content: 'x' })).toMatchObject({ status: 404 })
  })

  test.each([
    ['nothing', {}],
    ['a blank content', { content: ' \n' }],
    ['only invisible characters', { content: '\u200B\n\u00AD' }],
    ['a content of another type', { content: 1 }],
    ['a content that is too long', { content: 'x'.repeat(16_001) }],
    ['an unknown upload', { content: 'x', images: ['unknown.png'] }],
    ['an unknown quote', { content: 'x', quotedMessageId: unknown }],
  ])('%s is refused', async (_what, body) => {
    const { ann } = environment.people
    const message = await ann.says('mine', environment.channel.open)
    expect(await ann.put(`/messages/${message.id}`, body)).toMatchObject({ status: 400 })
    const { body: listed } = await ann.get(`/channels/${environment.channel.open.id}/messages?limit=1`)
    expect(listed.messages).toEqual([message])
  })
})

describe('DELETE /messages/:messageId', () => {
  test('removes the content, sends an event to the channel, and is not audited when the author did it', async () => {
    const { ann, bob, cat } = environment.people
    const message = await ann.says('gone', environment.channel.secret)
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '+1' })
    expect(await ann.delete(`/messages/${message.id}`)).toMatchObject({ status: 200, body: { success: true } })
    await environment.events
      .to(bob)
      .toHave('DELETE_MESSAGE', { id: message.id, channelId: environment.channel.secret.id, seq: message.seq })
    await environment.events.to(cat).neverHave('DELETE_MESSAGE', { id: message.id })

    const { db } = environment.deps
    const row = await db.selectFrom('messages').selectAll().where('id', '=', message.id).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ content: '', seq: message.seq, deletedAt: expect.any(Number) })
    expect(await db.selectFrom('reactions').selectAll().where('messageId', '=', message.id).execute()).toEqual([])
    expect(await db.selectFrom('auditLog').selectAll().where('targetId', '=', message.id).execute()).toEqual([])
    for (const refused of [
      await ann.delete(`/messages/${message.id}`),
      await ann.put(`/messages/${message.id}`, { content: 'x' }),
      await ann.post(`/messages/${message.id}/reactions`, { reaction: 'x' }),
    ]) {
      expect(refused).toMatchObject({ status: 404 })
    }
  })

  test('by an admin is audited', async () => {
    const { ada, ann } = environment.people
    const message = await ann.says('moderated', environment.channel.secret)
    expect(await ada.delete(`/messages/${message.id}`)).toMatchObject({ status: 200 })
    const entries = await environment.deps.db
      .selectFrom('auditLog')
      .selectAll()
      .where('targetId', '=', message.id)
      .execute()
    expect(entries).toMatchObject([
      {
        action: 'message.delete',
        actorId: ada.id,
        targetType: 'message',
        metadata: { channelId: environment.channel.secret.id, authorId: ann.id },
      },
    ])
  })

  test('deletes its replies too', async () => {
    const { ann } = environment.people
    const parent = await ann.says('parent', environment.channel.open)
    const id = uuidv7()
    await environment.deps.db
      .insertInto('messages')
      .values({
        id,
        channelId: environment.channel.open.id,
        threadId: parent.id,
        seq: 1,
        authorId: ann.id,
        content: 'reply',
        createdAt: 1,
        attachments: null,
      })
      .execute()
    await ann.delete(`/messages/${parent.id}`)
    expect(await ann.put(`/messages/${id}`, { content: 'x' })).toMatchObject({ status: 404 })
  })

  test('is for the author and admins', async () => {
    const { ann, bob, cat, nobody } = environment.people
    const message = await ann.says('mine', environment.channel.secret)
    const statuses = [bob, cat, nobody].map(async (person) => (await person.delete(`/messages/${message.id}`)).status)
    expect(await Promise.all(statuses)).toEqual([403, 403, 401])
    expect(await ann.delete(`/messages/${unknown}`)).toMatchObject({ status: 404 })
    expect(await ann.delete('/messages/nonsense')).toMatchObject({ status: 404 })
  })
})
