import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { house } from '@parley/test/house'
import { beforeAll, describe, expect, test } from 'vitest'

const home = house()

describe('a message of a conversation', () => {
  const conversation = uuidv7()
  const id = uuidv7()
  let participants: string[] = []

  beforeAll(async () => {
    const { ann, ada } = home.people
    participants = [ann.id, ada.id].sort()
    const { db } = home.deps
    await db
      .insertInto('channels')
      .values({ id: conversation, kind: 'direct', name: '', nameKey: '', createdAt: 1, lastSeq: 1 })
      .execute()
    for (const userId of participants) {
      await db.insertInto('channelMembers').values({ channelId: conversation, userId, joinedAt: 1 }).execute()
    }
    await db
      .insertInto('messages')
      .values({
        id,
        channelId: conversation,
        seq: 1,
        authorId: ann.id,
        content: 'psst',
        createdAt: 1,
        attachments: null,
      })
      .execute()
  })

  test('is edited by its author, and only the participants are told', async () => {
    const { ann, ada, bob } = home.people
    const { status, body } = await ann.put(`/messages/${id}`, { content: 'hush' })
    expect({ status, ...body }).toMatchObject({
      status: 200,
      message: { channelId: `dm:${conversation}`, content: 'hush' },
    })
    const message: Message = body.message
    await home.events.to(ada).toHave('UPDATE_DM_MESSAGE', { ...message, participants })
    await home.events.to(bob).neverHave('UPDATE_DM_MESSAGE', { id })
  })

  test('takes reactions of the participants', async () => {
    const { ann, ada, bob } = home.people
    expect(await ada.post(`/messages/${id}/reactions`, { reaction: '+1' })).toMatchObject({ status: 200 })
    const change = { messageId: id, channelId: `dm:${conversation}`, userId: ada.id, reaction: '+1' }
    await home.events.to(ann).toHave('NEW_REACTION', change)
    await home.events.to(bob).neverHave('NEW_REACTION', { messageId: id })
    expect(await bob.post(`/messages/${id}/reactions`, { reaction: '+1' })).toMatchObject({ status: 403 })
  })

  test('is not reached through the routes of channels', async () => {
    const { ann } = home.people
    for (const channelId of [conversation, `dm:${conversation}`]) {
      expect(await ann.get(`/channels/${channelId}/messages`)).toMatchObject({ status: 404 })
      expect(await ann.post(`/channels/${channelId}/messages`, { content: 'x' })).toMatchObject({ status: 404 })
    }
  })

  test('is deleted by its author only, not by an admin', async () => {
    const { ann, ada, bob } = home.people
    expect(await ada.delete(`/messages/${id}`)).toMatchObject({ status: 403 })
    expect(await bob.delete(`/messages/${id}`)).toMatchObject({ status: 403 })
    expect(await ann.delete(`/messages/${id}`)).toMatchObject({ status: 200 })
    const channelId = `dm:${conversation}`
    await home.events.to(ada).toHave('DELETE_DM_MESSAGE', { id, channelId, conversationId: channelId, participants })
    await home.events.to(bob).neverHave('DELETE_DM_MESSAGE', { id })
  })
})
