import { Person } from '@parley/test'
import { Authenticator } from '@parley/test/authenticator'
import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

const stepMs = 30_000

/** Second factors, directories, guests and groups. */
export function identityJourneys(server: TestServer) {
  const nobody = () => Person.nobody(server.baseUrl)
  const emailOf = ({ userName }: Person) => `${userName}@example.com`
  const login = (email: string) => nobody().post('/auth/dev-login', { email })

  /** The first step of a sign-in, which must require a second factor. */
  async function begin(person: Person): Promise<{ mfaToken: string; methods: string[] }> {
    const { status, body } = await login(emailOf(person))
    expect([status, body]).toEqual([200, expect.objectContaining({ mfaRequired: true })])
    expect(body).not.toHaveProperty('token')
    return body
  }

  const finish = (mfaToken: string, proof: object) => nobody().post('/auth/mfa', { mfaToken, ...proof })
  const asPerson = (person: Person, body: { accessToken: string }) =>
    new Person(server.baseUrl, person, body.accessToken)

  /** An authenticator app. Each code is of a later step than the previous one, and at most one step ahead. */
  function createApp(secret: string) {
    const totp = new TOTP({ secret })
    let step = 0
    return {
      code: () => {
        step = Math.max(step + 1, Math.floor(Date.now() / stepMs))
        return totp.generate({ timestamp: step * stepMs })
      },
    }
  }

  async function setsUpPasskey(person: Person) {
    const authenticator = new Authenticator()
    const { options } = (await person.post('/auth/passkeys/registration')).body
    const origin = `http://${options.rp.id}:${new URL(server.baseUrl).port}`
    const credential = authenticator.register(options, origin)
    expect(await person.post('/auth/passkeys', { name: 'a key', credential })).toMatchObject({ status: 200 })
    return {
      async signs(mfaToken?: string) {
        const asked = await nobody().post('/auth/passkeys/authentication', { mfaToken })
        return authenticator.answer(asked.body.options, origin)
      },
    }
  }

  test('an authenticator app is asked for after the first step, and so is a recovery code, until an admin removes them', async () => {
    const [ann, admin] = await Promise.all([server.newcomer('ann'), server.admin()])
    const elsewhere = await Person.signIn(server.baseUrl, emailOf(ann))
    const stream = await elsewhere.opensStream()
    const app = createApp((await ann.post('/auth/totp')).body.secret)
    const confirmed = await ann.post('/auth/totp/confirm', { code: app.code() })
    expect(confirmed).toMatchObject({ status: 200, body: { recoveryCodes: expect.any(Array) } })
    await stream.ended
    expect((await elsewhere.get('/auth/me')).status).toBe(401)
    expect((await ann.get('/auth/me')).status).toBe(200)

    const { mfaToken, methods } = await begin(ann)
    expect(methods.toSorted()).toEqual(['recovery', 'totp'])
    const code = app.code()
    const entered = await finish(mfaToken, { code })
    expect(entered).toMatchObject({ status: 200, body: { accessToken: expect.any(String) } })
    expect((await asPerson(ann, entered.body).get('/auth/me')).body.user).toMatchObject({ id: ann.id })
    const again = await begin(ann)
    expect((await finish(again.mfaToken, { code })).status).toBe(401)
    const [recoveryCode] = confirmed.body.recoveryCodes
    expect((await finish(again.mfaToken, { recoveryCode })).status).toBe(200)
    expect((await finish((await begin(ann)).mfaToken, { recoveryCode })).status).toBe(401)

    expect((await admin.delete(`/users/${ann.id}/second-factors`)).status).toBe(200)
    expect((await login(emailOf(ann))).body).toMatchObject({ token: expect.any(String) })
  })

  test('a passkey is a second step, and enough alone; one of somebody else is neither', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const [ofAnn, ofBob] = await Promise.all([setsUpPasskey(ann), setsUpPasskey(bob)])
    const signIn = (credential: object) => nobody().post('/auth/passkeys/sign-in', { credential })

    const { mfaToken, methods } = await begin(ann)
    expect(methods).toEqual(['passkey'])
    for (const credential of [await ofBob.signs(mfaToken), await ofBob.signs()]) {
      expect((await finish(mfaToken, { credential })).status).toBe(401)
    }
    const entered = await finish(mfaToken, { credential: await ofAnn.signs(mfaToken) })
    expect((await asPerson(ann, entered.body).get('/auth/me')).body.user).toMatchObject({ id: ann.id })

    const credential = await ofAnn.signs()
    const alone = await signIn(credential)
    expect((await asPerson(ann, alone.body).get('/auth/me')).body.user).toMatchObject({ id: ann.id })
    expect((await signIn(credential)).status).toBe(401)
    // Another person cannot answer the challenge of one person.
    expect((await signIn(await ofBob.signs((await begin(ann)).mfaToken))).status).toBe(401)
  })

  test('a directory creates somebody, puts them into a group with a channel, deactivates and deletes them', async () => {
    const [ann, admin] = await Promise.all([server.newcomer('ann'), server.admin()])
    const client = (await admin.post('/admin/scim-clients', { name: server.unique('directory') })).body
    const scim = new Person(server.baseUrl, { id: '', userName: 'SCIM' }, client.token)
    const patch = (path: string, op: object) => scimPatch(scim, path, op)
    const toAnn = await ann.opensStream()

    const userName = `${server.unique('erin')}@example.com`
    const created = await scim.post('/scim/v2/Users', { schemas: [schema.user], userName, active: true })
    expect(created.status).toBe(201)
    const { id } = created.body
    await toAnn.waitFor('NEW_USER', { id })
    expect((await patch(`/Users/${id}`, { op: 'Replace', path: 'displayName', value: 'Erin E' })).status).toBe(200)
    await toAnn.waitFor('UPDATE_USER', { id, displayName: 'Erin E' })
    const erin = await Person.signIn(server.baseUrl, userName)
    const toErin = await erin.opensStream()

    const displayName = server.unique('crew')
    const members = [{ value: id }]
    const group = (await scim.post('/scim/v2/Groups', { schemas: [schema.group], displayName, members })).body
    await toAnn.waitFor('NEW_GROUP', { id: group.id, source: 'scim' })
    const channel = await ann.creates({ name: server.unique('of the crew'), isPrivate: true })
    expect((await ann.put(`/channels/${channel.id}`, { groups: [group.id] })).status).toBe(200)
    await toErin.waitFor('NEW_CHANNEL', { id: channel.id })
    expect((await erin.says('hello', channel)).author.id).toBe(id)
    const left = await patch(`/Groups/${group.id}`, { op: 'Remove', path: `members[value eq "${id}"]` })
    expect(left.status).toBe(204)
    await toErin.waitFor('DELETE_CHANNEL', { id: channel.id })
    expect((await erin.get(`/channels/${channel.id}/messages`)).status).toBe(403)

    const off = await patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' })
    expect(off).toMatchObject({ status: 200, body: { active: false } })
    await toErin.ended
    expect((await erin.get('/auth/me')).status).toBe(401)
    expect(await login(userName)).toMatchObject({ status: 403, body: { code: 'account_deactivated' } })
    expect((await scim.delete(`/scim/v2/Users/${id}`)).status).toBe(204)
    expect((await scim.get(`/scim/v2/Users/${id}`)).status).toBe(404)
    expect((await scim.delete(`/scim/v2/Groups/${group.id}`)).status).toBe(204)
    await toAnn.waitFor('DELETE_GROUP', { id: group.id })
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toMatchObject([{ author: { id } }])

    expect((await admin.delete(`/admin/scim-clients/${client.id}`)).status).toBe(200)
    expect((await scim.get('/scim/v2/Users?count=0')).status).toBe(401)
    await toAnn.close()
  })

  test('a guest sees the channels and people of their own, and nothing any more when their time is over', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const email = `${server.unique('gus')}@example.com`
    expect((await admin.post('/users/add', { email, role: 'guest' })).status).toBe(200)
    const gus = await Person.signIn(server.baseUrl, email)
    const shared = await ann.creates({ name: server.unique('shared'), members: [gus.id] })
    const other = await bob.creates({ name: server.unique('others') })
    const stream = await gus.opensStream()
    await bob.says('not for guests', other)
    const said = await ann.says('@channel for guests too', shared)
    await stream.waitFor('NEW_MESSAGE', { id: said.id })
    expect(stream.all('NEW_MESSAGE').map(({ id }) => id)).toEqual([said.id])

    const idsOf = (items: { id: string }[]) => items.map(({ id }) => id).sort()
    expect(idsOf((await gus.get('/channels')).body.channels)).toEqual([shared.id])
    expect(idsOf((await gus.get('/users')).body.users)).toEqual([ann.id, gus.id].sort())
    expect((await gus.says('@channel?', shared)).mentions).toEqual([])
    for (const refused of [
      await gus.get(`/channels/${other.id}/messages`),
      await gus.post('/channels', { name: server.unique('of a guest') }),
      await gus.put(`/channels/${shared.id}`, { topic: 'x' }),
      await gus.get('/groups'),
    ]) {
      expect(refused.status).toBe(403)
    }
    expect((await gus.post(`/channels/${other.id}/join`)).status).toBe(404)
    expect((await gus.post('/conversations', { targetUserId: bob.id })).status).toBe(400)

    // A time in the past is refused.
    const limit = () => admin.put(`/users/${gus.id}/role`, { role: 'guest', expiresAt: Date.now() + 1_000 })
    await expect.poll(async () => (await limit()).status).toBe(200)
    await expect.poll(async () => (await gus.get('/auth/me')).status).toBe(401)
    await stream.ended
    expect((await login(email)).status).toBe(403)
  })

  test('a group is mentioned by its handle, and its people are members of a channel while they are in it', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const [toAnn, toBob] = await Promise.all([ann.opensStream(), bob.opensStream()])
    const handle = server.unique('night')
    const { group } = (await admin.post('/groups', { handle, name: 'Night shift', members: [bob.id] })).body
    await toAnn.waitFor('NEW_GROUP', { id: group.id, handle })
    const channel = await ann.creates({ name: server.unique('at night'), isPrivate: true })
    expect((await ann.put(`/channels/${channel.id}`, { groups: [group.id] })).status).toBe(200)
    await toBob.waitFor('NEW_CHANNEL', { id: channel.id })

    const said = await ann.says(`wake up, @${handle}`, channel)
    expect(said.mentions).toEqual([`group:${group.id}`])
    await toBob.waitFor('NEW_MESSAGE', { id: said.id })
    expect((await bob.get(`/channels/${channel.id}`)).body.channel).toMatchObject({ mentionCount: 1 })

    expect((await admin.put(`/groups/${group.id}/members`, { remove: [bob.id] })).status).toBe(200)
    await toBob.waitFor('DELETE_CHANNEL', { id: channel.id })
    await ann.says(`still there, @${handle}?`, channel)
    expect((await bob.get(`/channels/${channel.id}/messages`)).status).toBe(403)
    expect((await admin.delete(`/groups/${group.id}`)).status).toBe(200)
    await toBob.waitFor('DELETE_GROUP', { id: group.id })
    // Events have one order, so events that bob has not received by now will never arrive.
    expect(toBob.all('NEW_MESSAGE').map(({ id }) => id)).toEqual([said.id])
    await Promise.all([toAnn.close(), toBob.close()])
  })
}

const schema = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
}

/** One change by a directory. Person has no method for PATCH, which no other part of the interface uses. */
async function scimPatch({ baseUrl, token }: Person, path: string, operation: object) {
  const response = await fetch(`${baseUrl}/scim/v2${path}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({ schemas: [schema.patch], Operations: [operation] }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}
