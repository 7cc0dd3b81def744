import type { Channel } from '@parley/contract'
import type { Person } from '@parley/test'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { directory } from '../service.ts'

const server = runningService(directory)
let ann: Person
let bob: Person
let cat: Person
let ada: Person
beforeAll(async () => {
  ann = await server.signedIn('ann')
  bob = await server.signedIn('bob')
  cat = await server.signedIn('cat')
  ada = await server.signedIn('ada', { isAdmin: true })
})

let round = 0
let open: Channel
let closed: Channel
beforeEach(async () => {
  open = await ann.creates({ name: `open ${++round}`, topic: 'anything' })
  closed = await ann.creates({ name: `closed ${round}`, isPrivate: true, members: [bob.id] })
  await server.recorded()
})

const change = async (channel: Channel, fields: object, person = ann) => {
  const { status, body } = await person.put(`/channels/${channel.id}`, fields)
  return { status, channel: body.channel, refusal: body.error }
}
const seesIt = async (person: Person, { id }: Channel) =>
  (await person.get('/channels')).body.channels.some((channel: Channel) => channel.id === id)
const audience = (channel: Channel, version: number) => ({ to: 'channel', channel: channel.id, version })

describe('PUT /channels/:channelId', () => {
  test('changes what is given and keeps the rest', async () => {
    const { status, channel } = await change(open, { name: 'New name', members: undefined })
    expect(status).toBe(200)
    expect(channel).toEqual({ ...open, name: 'New name', updatedAt: expect.any(Number) })
    expect(await server.recorded()).toEqual([{ type: 'UPDATE_CHANNEL', payload: channel, routing: audience(open, 1) }])
    expect(await change(open, { topic: null })).toMatchObject({ channel: { name: 'New name', topic: null } })
    const entries = await server.deps.db.selectFrom('auditLog').selectAll().where('targetId', '=', open.id).execute()
    expect(entries.map(({ action }) => action)).toEqual(['channel.create', 'channel.update', 'channel.update'])
  })

  test('replaces the members of a private channel: each is told what it means for them', async () => {
    const { channel } = await change(closed, { name: `renamed ${round}`, members: [cat.id] })

    expect(channel.members).toEqual([ann.id, cat.id])
    expect([await seesIt(bob, closed), await seesIt(cat, closed)]).toEqual([false, true])
    expect(await server.recorded()).toEqual([
      {
        type: 'DELETE_CHANNEL',
        payload: { id: closed.id, name: closed.name },
        routing: { to: 'users', users: [bob.id] },
      },
      { type: 'NEW_CHANNEL', payload: channel, routing: { to: 'users', users: [cat.id] } },
      { type: 'UPDATE_CHANNEL', payload: channel, routing: audience(closed, 2) },
    ])
  })

  test('an admin who becomes or ceases to be a member neither gains nor loses it', async () => {
    await change(closed, { members: [bob.id, ada.id] })
    await change(closed, { members: [bob.id] })
    expect(await server.recorded()).toMatchObject([
      { type: 'UPDATE_CHANNEL', routing: { version: 2 } },
      { type: 'UPDATE_CHANNEL', routing: { version: 3 } },
    ])
  })

  test('public to private takes it from those who are no members', async () => {
    const { channel } = await change(open, { isPrivate: true, members: [bob.id] })
    expect([await seesIt(bob, open), await seesIt(cat, open), await seesIt(ada, open)]).toEqual([true, false, true])
    expect(await server.recorded()).toEqual([
      {
        type: 'DELETE_CHANNEL',
        payload: { id: open.id, name: open.name },
        routing: { to: 'outsiders', members: [ann.id, bob.id] },
      },
      { type: 'UPDATE_CHANNEL', payload: channel, routing: audience(open, 2) },
    ])
  })

  test('private to public gives it to everybody', async () => {
    const { channel } = await change(closed, { isPrivate: false, members: [] })
    expect(await seesIt(cat, closed)).toBe(true)
    expect(await server.recorded()).toEqual([
      { type: 'NEW_CHANNEL', payload: channel, routing: { to: 'outsiders', members: [ann.id, bob.id] } },
      { type: 'UPDATE_CHANNEL', payload: channel, routing: audience(closed, 2) },
    ])
  })

  test('the creator always stays', async () => {
    expect(await change(closed, { members: [] }, ada)).toMatchObject({ status: 200, channel: { members: [ann.id] } })
    expect(await seesIt(ann, closed)).toBe(true)
  })

  test('is for the creator and admins', async () => {
    expect(await change(closed, { topic: 'mine' }, bob)).toMatchObject({ status: 403 })
    expect(await change(closed, { topic: 'mine' }, cat)).toMatchObject({ status: 403 })
    expect(await change(open, { topic: 'mine' }, cat)).toMatchObject({ status: 403 })
    expect(await change(closed, { topic: 'ours' }, ada)).toMatchObject({ status: 200 })
  })

  test.each([
    ['a taken name, in another case', () => ({ name: open.name.toUpperCase() })],
    ['a member who is nobody', () => ({ members: [bob.id, '0190a000-0000-7000-8000-000000000001'] })],
    ['a member of another form', () => ({ members: ['bob'] })],
    ['a blank name', () => ({ name: ' ' })],
    ['a name that is null', () => ({ name: null })],
    ['a long topic', () => ({ topic: 'a'.repeat(251) })],
    ['a word for a flag', () => ({ isPrivate: 'yes' })],
  ])('%s is 400 and changes nothing', async (_, fields) => {
    expect(await change(closed, fields())).toMatchObject({ status: 400, refusal: expect.any(String) })
    expect((await ann.get('/channels')).body.channels).toContainEqual({ ...closed, lastSeq: 0 })
    expect(await server.recorded()).toEqual([])
  })

  test.each(['0190a000-0000-7000-8000-000000000001', 'nonsense', 'a'.repeat(500)])('%s is 404', async (id) => {
    expect(await ada.put(`/channels/${id}`, { name: 'any' })).toMatchObject({ status: 404 })
  })
})
