import { Person, samples } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function peopleJourneys(server: TestServer) {
  test('a rename is seen by everyone, on streams, in lists and on what is said later', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('names') })
    const stream = await bob.opensStream()
    const userName = server.unique('Änne Müller')

    expect(await ann.put('/users/me', { userName })).toMatchObject({
      status: 200,
      body: { user: { id: ann.id, userName } },
    })
    await stream.waitFor('UPDATE_USER', { id: ann.id, userName })
    expect((await bob.get('/users')).body.users).toContainEqual(
      expect.objectContaining({ id: ann.id, userName, isAdmin: false, createdAt: expect.any(Number) }),
    )
    expect((await ann.says('it is me', channel)).author).toEqual({ id: ann.id, userName })

    expect((await bob.put('/users/me', { userName: userName.toLowerCase() })).status).toBe(400)
    expect((await bob.put('/users/me', { userName: 'here' })).status).toBe(400)
    await stream.close()
  })

  test('an avatar has an event for everyone, is read by its version, and does not exist after its removal', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const stream = await bob.opensStream()
    // As base64 it is larger than the limit of other requests.
    const image = Buffer.concat([samples.png, Buffer.alloc(900_000)]).toString('base64')
    const { status, body } = await ann.put('/users/me/avatar', { image })
    expect([status, body]).toEqual([200, { success: true, avatarVersion: expect.any(String) }])
    const { avatarVersion } = body
    await stream.waitFor('UPDATE_USER', { id: ann.id, userName: ann.userName, isAdmin: false, avatarVersion })
    expect((await ann.get('/auth/me')).body.user).toMatchObject({ avatarVersion })

    const path = `/users/${ann.id}/avatar/${avatarVersion}`
    const small = await bob.downloads(`${path}?size=64`)
    expect(small).toMatchObject({
      status: 200,
      headers: { 'content-type': 'image/webp', 'cache-control': 'private, max-age=31536000, immutable' },
    })
    expect(small.bytes.length).toBeGreaterThan(0)
    expect((await Person.nobody(server.baseUrl).downloads(path)).status).toBe(401)
    expect((await ann.delete('/users/me/avatar')).status).toBe(200)
    await stream.waitFor('UPDATE_USER', { id: ann.id, avatarVersion: null })
    expect((await bob.downloads(path)).status).toBe(404)
    await stream.close()
  })

  test('an admin removes somebody: their stream ends, their token is refused, their messages stay', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const channel = await bob.creates({ name: server.unique('farewell') })
    const message = await bob.says('I was here', channel)
    const [toBob, toAnn] = await Promise.all([bob.opensStream(), ann.opensStream()])

    expect((await ann.delete(`/users/${bob.id}`)).status).toBe(403)
    expect((await admin.delete(`/users/${bob.id}`)).status).toBe(200)
    await toBob.ended
    await toAnn.waitFor('REMOVE_USER', { id: bob.id })
    expect((await bob.get('/auth/me')).status).toBe(401)
    expect((await bob.post(`/channels/${channel.id}/messages`, { content: 'and again' })).status).toBe(401)
    await expect(bob.opensStream(toBob.cursor)).rejects.toMatchObject({ status: 401 })
    const { messages } = (await ann.get(`/channels/${channel.id}/messages`)).body
    expect(messages).toMatchObject([{ id: message.id, author: { userName: bob.userName } }])
    expect((await admin.delete(`/users/${admin.id}`)).status).toBe(400)
    await toAnn.close()
  })

  test('the server gets a name from an admin, which everyone hears and the audit log keeps', async () => {
    const [ann, admin] = await Promise.all([server.newcomer('ann'), server.admin()])
    const stream = await ann.opensStream()
    const name = server.unique('Headquarters')
    expect((await ann.put('/server/settings', { name })).status).toBe(403)
    expect(await admin.put('/server/settings', { name })).toMatchObject({ status: 200, body: { name } })
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name })
    expect((await ann.get('/server/settings')).body).toEqual({ name })

    expect((await ann.get('/admin/audit-log')).status).toBe(403)
    const { status, body } = await admin.get('/admin/audit-log?action=server.settings.update&limit=1')
    expect(status).toBe(200)
    expect(body.entries).toMatchObject([
      { action: 'server.settings.update', actorId: admin.id, createdAt: expect.any(Number) },
    ])
    await stream.close()
  })

  test('the audit log has changes of channels and of messages of others, newest first', async () => {
    const [ann, admin] = await Promise.all([server.newcomer('ann'), server.admin()])
    const channel = await ann.creates({ name: server.unique('watched') })
    const message = await ann.says('rude', channel)
    await ann.put(`/channels/${channel.id}`, { topic: 'watched' })
    await admin.delete(`/messages/${message.id}`)
    await admin.delete(`/channels/${channel.id}`)

    const { entries } = (await admin.get('/admin/audit-log?limit=100')).body
    const about = entries
      .filter(({ targetId }: { targetId: string }) => targetId === channel.id || targetId === message.id)
      .map(({ action, actorId }: { action: string; actorId: string }) => [action, actorId])
    expect(about).toEqual([
      ['channel.delete', admin.id],
      ['message.delete', admin.id],
      ['channel.update', ann.id],
      ['channel.create', ann.id],
    ])
  })
}
