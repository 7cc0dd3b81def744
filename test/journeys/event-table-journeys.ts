import { eventPayloads } from '@parley/contract'
import { type HttpResponse, Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

const names = ['ann', 'bob', 'cat', 'dan', 'admin'] as const
type Name = (typeof names)[number]

const everyone: readonly Name[] = names
const readers: readonly Name[] = ['ann', 'bob', 'admin']
const pair: readonly Name[] = ['ann', 'bob']

/** The event of each operation, and the exact people who get it. */
export function eventTableJourneys(server: TestServer) {
  test('each event comes from its operation and reaches its audience, nobody else', { timeout: 90_000 }, async () => {
    const people = {
      ann: await server.newcomer('ann'),
      bob: await server.newcomer('bob'),
      cat: await server.newcomer('cat'),
      dan: await server.newcomer('dan'),
      admin: await server.admin(),
    }
    const { ann, bob, cat, dan, admin } = people
    const opened = await Promise.all(names.map(async (name) => [name, await people[name].opensStream()] as const))
    const streams = Object.fromEntries(opened) as Record<Name, (typeof opened)[number][1]>

    const body = async (response: Promise<HttpResponse>) => {
      const { status, body } = await response
      expect(status, JSON.stringify(body)).toBe(200)
      return body
    }
    /** Events have one order: when everybody has received this one, no earlier event can arrive any more. */
    async function marker() {
      const { id } = await ann.creates({ name: server.unique('marker') })
      await Promise.all(names.map((name) => streams[name].waitFor('NEW_CHANNEL', { id })))
    }
    const tested = new Set<string>()
    /** Runs an operation, and returns the people who got an event of that type about `about`. */
    async function causes(type: string, audience: readonly Name[], act: () => Promise<{ about: string }>) {
      tested.add(type)
      const before = Object.fromEntries(names.map((name) => [name, streams[name].received.length])) as Record<
        Name,
        number
      >
      const { about } = await act()
      const got = (name: Name) =>
        streams[name].received
          .slice(before[name])
          .filter((event) => event.type === type && JSON.stringify(event.payload).includes(about)).length
      // Events without a position are waited for.
      for (const name of audience)
        await streams[name].until(
          () => got(name) > 0,
          () => `no ${type} ${about} at ${name}`,
        )
      await marker()
      expect(Object.fromEntries(names.map((name) => [name, got(name)])), type).toEqual(
        Object.fromEntries(names.map((name) => [name, audience.includes(name) ? 1 : 0])),
      )
    }
    const about = (id: string) => ({ about: `"${id}"` })

    // Dan was a member, and is no longer one.
    const secret = await ann.creates({ name: server.unique('secret'), isPrivate: true, members: [bob.id, dan.id] })
    await causes('DELETE_CHANNEL', ['dan'], async () => {
      await body(ann.put(`/channels/${secret.id}`, { members: [bob.id] }))
      return about(secret.id)
    })
    const open = await ann.creates({ name: server.unique('open') })

    // Channels.
    for (const [isPrivate, audience] of [
      [true, readers],
      [false, everyone],
    ] as const) {
      let id = ''
      await causes('NEW_CHANNEL', audience, async () => {
        ;({ id } = await ann.creates({ name: server.unique('table'), isPrivate, members: [bob.id] }))
        return about(id)
      })
      await causes('UPDATE_CHANNEL', audience, async () => {
        await body(ann.put(`/channels/${id}`, { topic: 'another' }))
        return about(id)
      })
      await causes('DELETE_CHANNEL', audience, async () => {
        await body(ann.delete(`/channels/${id}`))
        return about(id)
      })
    }
    await causes('NEW_CHANNEL', ['cat'], async () => {
      await body(ann.put(`/channels/${secret.id}`, { members: [bob.id, cat.id] }))
      return about(secret.id)
    })
    await causes('DELETE_CHANNEL', ['cat'], async () => {
      await body(ann.put(`/channels/${secret.id}`, { members: [bob.id] }))
      return about(secret.id)
    })

    // Messages and their changes.
    for (const [channel, audience] of [
      [secret, readers],
      [open, everyone],
    ] as const) {
      let id = ''
      await causes('NEW_MESSAGE', audience, async () => {
        ;({ id } = await ann.says('for the table', channel))
        return about(id)
      })
      const messages: [string, () => Promise<HttpResponse>][] = [
        ['UPDATE_MESSAGE', () => ann.put(`/messages/${id}`, { content: 'edited' })],
        ['UPDATE_MESSAGE', () => bob.post(`/messages/${id}/pin`)],
        ['UPDATE_MESSAGE', () => bob.delete(`/messages/${id}/pin`)],
        ['NEW_REACTION', () => bob.post(`/messages/${id}/reactions`, { reaction: 'x' })],
        ['DELETE_REACTION', () => bob.delete(`/messages/${id}/reactions`, { reaction: 'x' })],
      ]
      for (const [type, act] of messages) {
        await causes(type, audience, async () => {
          await body(act())
          return about(id)
        })
      }
      let replyId = ''
      await causes('NEW_THREAD_REPLY', audience, async () => {
        replyId = (await body(bob.post(`/messages/${id}/thread`, { content: 'a reply' }))).reply.id
        return about(replyId)
      })
      await causes('UPDATE_THREAD_REPLY', audience, async () => {
        await body(bob.put(`/messages/${id}/thread/${replyId}`, { content: 'another' }))
        return about(replyId)
      })
      await causes('DELETE_THREAD_REPLY', audience, async () => {
        await body(bob.delete(`/messages/${id}/thread/${replyId}`))
        return about(replyId)
      })
      await causes('DELETE_MESSAGE', audience, async () => {
        await body(ann.delete(`/messages/${id}`))
        return about(id)
      })

      // Webhooks.
      let webhook = { id: '', token: '' }
      await causes('NEW_WEBHOOK', audience, async () => {
        webhook = (await body(admin.post('/webhooks', { name: 'a bot', channelId: channel.id }))).webhook
        return about(webhook.id)
      })
      await causes('NEW_MESSAGE', audience, async () => {
        const bot = new Person(server.baseUrl, { id: '', userName: 'a bot' }, webhook.token)
        return about((await body(bot.post(`/webhooks/${webhook.id}/messages`, { content: 'beep' }))).message.id)
      })
      await causes('DELETE_WEBHOOK', audience, async () => {
        await body(admin.delete(`/webhooks/${webhook.id}`))
        return about(webhook.id)
      })
      await causes('TYPING', audience, async () => {
        await body(ann.put(`/channels/${channel.id}/typing`))
        return about(channel.id)
      })
    }

    await causes('EPHEMERAL_MESSAGE', ['ann'], async () => {
      const { ephemeral } = await body(ann.post(`/channels/${open.id}/commands`, { text: '/help' }))
      return about(ephemeral.id)
    })

    // Conversations.
    let conversation = ''
    await causes('NEW_CONVERSATION', pair, async () => {
      conversation = (await body(ann.post('/conversations', { targetUserId: bob.id }))).conversation.id
      return about(conversation)
    })
    const direct = `/conversations/${conversation}/messages`
    let id = ''
    await causes('NEW_DM_MESSAGE', pair, async () => {
      id = (await body(ann.post(direct, { content: 'psst' }))).message.id
      return about(id)
    })
    for (const [type, act] of [
      ['UPDATE_DM_MESSAGE', () => ann.put(`${direct}/${id}`, { content: 'psst!' })],
      ['NEW_REACTION', () => bob.post(`/messages/${id}/reactions`, { reaction: 'x' })],
      ['DELETE_REACTION', () => bob.delete(`/messages/${id}/reactions`, { reaction: 'x' })],
      ['DELETE_DM_MESSAGE', () => ann.delete(`${direct}/${id}`)],
    ] as const) {
      await causes(type, pair, async () => {
        await body(act())
        return about(id)
      })
    }
    await causes('TYPING', pair, async () => {
      await body(ann.put(`/conversations/${conversation}/typing`))
      return about(conversation)
    })
    await causes('READ_UPDATE', ['ann'], async () => {
      await body(ann.put(`/channels/${open.id}/read`, { seq: 2 }))
      return about(open.id)
    })

    await causes('UPDATE_CHANNEL_PREFERENCES', ['ann'], async () => {
      await body(ann.put(`/channels/${open.id}/preferences`, { isMuted: true }))
      return about(open.id)
    })
    await causes('UPDATE_CHANNEL_PREFERENCES', ['bob'], async () => {
      await body(bob.put(`/conversations/${conversation}/preferences`, { isFavourite: true }))
      return about(conversation)
    })
    const parentId = (await ann.says('a question', open)).id
    await causes('THREAD_READ_UPDATE', ['bob'], async () => {
      await body(bob.put(`/messages/${parentId}/thread/follow`, { isFollowing: true }))
      return about(parentId)
    })
    // The author of the parent begins to follow with the first reply, and for both it is unread.
    await causes('SAVED_UPDATE', ['bob'], async () => {
      await body(bob.put(`/messages/${parentId}/saved`, { isSaved: true }))
      return about(parentId)
    })
    await causes('THREAD_READ_UPDATE', ['ann', 'bob', 'cat'], async () => {
      await body(cat.post(`/messages/${parentId}/thread`, { content: 'an answer' }))
      return about(parentId)
    })
    // It was unread already.
    await causes('THREAD_READ_UPDATE', [], async () => {
      await body(cat.post(`/messages/${parentId}/thread`, { content: 'another' }))
      return about(parentId)
    })
    await causes('THREAD_READ_UPDATE', ['bob'], async () => {
      await body(bob.put(`/messages/${parentId}/thread/read`, { seq: 2 }))
      return about(parentId)
    })
    await causes('THREAD_READ_UPDATE', ['ann'], async () => {
      await body(ann.put('/threads/read', { until: Date.now() + 60_000 }))
      return about(parentId)
    })
    let replyId = ''
    await causes('THREAD_READ_UPDATE', ['ann', 'bob'], async () => {
      replyId = (await body(cat.post(`/messages/${parentId}/thread`, { content: 'a mistake' }))).reply.id
      return about(parentId)
    })
    // The last unread reply is deleted.
    await causes('THREAD_READ_UPDATE', ['ann', 'bob'], async () => {
      await body(cat.delete(`/messages/${parentId}/thread/${replyId}`))
      return about(parentId)
    })

    // People and the server.
    let added = ''
    await causes('NEW_USER', everyone, async () => {
      const email = `${server.unique('added')}@example.com`
      added = (await body(admin.post('/users/add', { email, role: 'user' }))).userId
      return about(added)
    })
    const handle = server.unique('team')
    const group = (await body(admin.post('/groups', { handle, name: 'Team' }))).group
    await causes('UPDATE_GROUP', everyone, async () => {
      await body(admin.put(`/groups/${group.id}/members`, { add: [bob.id] }))
      return about(group.id)
    })
    await causes('DELETE_GROUP', everyone, async () => {
      await body(admin.delete(`/groups/${group.id}`))
      return about(group.id)
    })
    await causes('NEW_GROUP', everyone, async () =>
      about((await body(admin.post('/groups', { handle, name: 'Team' }))).group.id),
    )
    await causes('UPDATE_USER', everyone, async () => {
      await body(admin.put(`/users/${added}/role`, { role: 'admin' }))
      return about(added)
    })
    await causes('REMOVE_USER', everyone, async () => {
      await body(admin.delete(`/users/${added}`))
      return about(added)
    })
    let eve = ann
    await causes('NEW_USER', everyone, async () => {
      eve = await server.newcomer('eve')
      return about(eve.id)
    })
    await causes('UPDATE_USER', everyone, async () => {
      await body(eve.put('/users/me', { userName: server.unique('eve') }))
      return about(eve.id)
    })
    await causes('PRESENCE_UPDATE', everyone, async () => {
      await body(eve.put('/presence/me', { status: 'away' }))
      return about(eve.id)
    })
    await causes('USER_EXIT', everyone, async () => {
      await body(eve.post('/users/exit'))
      return about(eve.id)
    })
    const fay = await server.newcomer('fay')
    await body(admin.put(`/users/${fay.id}/role`, { role: 'admin' }))
    const orphan = (await body(fay.post('/webhooks', { name: 'builds', channelId: open.id }))).webhook
    await causes('UPDATE_WEBHOOK', ['admin'], async () => {
      await body(admin.put(`/users/${fay.id}/role`, { role: 'user' }))
      return about(orphan.id)
    })
    await causes('UPDATE_SERVER_SETTINGS', everyone, async () => {
      const name = server.unique('server')
      await body(admin.put('/server/settings', { name }))
      return about(name)
    })

    const types = Object.keys(eventPayloads).filter((type) => type !== 'CONNECTED')
    expect([...tested].toSorted(), 'events of the contract without a line in this table').toEqual(types.toSorted())
    await Promise.all(names.map((name) => streams[name].close()))
  })
}
