import { uuidv7 } from '@parley/database'
import { createGroup } from '@parley/groups'
import { appUrl } from '@parley/test/browser'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { openidProvider, startIssuer } from './issuer.testing.ts'
import { addPerson, type Running, running } from './running.testing.ts'

const issuer = await startIssuer()
afterAll(() => issuer.close())

const claims = { roles: 'realm_access.roles', groups: 'groups' }
const custom = [
  openidProvider('corp', issuer.url, { claims, adminRoles: ['chat-admin'] }),
  openidProvider('strict', issuer.url, { allowedDomains: ['example.com', 'łódź.pl', 'xn--bcher-kva.example'] }),
  openidProvider('trusting', issuer.url, { trustEmail: true }),
  openidProvider('contacts', issuer.url, { claims: { email: 'contact' } }),
  openidProvider('trusted-contacts', issuer.url, { claims: { email: 'contact' }, trustEmail: true }),
]
const server = running({ auth: { isInviteRequired: false, maxActiveSessions: 50 }, oauth: { custom } })

beforeEach(() => {
  issuer.claims = {}
  issuer.userInfo = {}
})

async function arrive(about: Record<string, unknown>, { id = 'corp', at = server } = {}) {
  issuer.claims = { email_verified: true, ...about }
  issuer.userInfo = { sub: about.sub }
  const { access_token, oauth_error_code } = await at.browser().arrive(`${appUrl}/auth/oauth/${id}`)
  if (oauth_error_code) return { refused: oauth_error_code }
  return { user: (await at.whoIs(access_token)).user! }
}

const setUser = (at: Running, id: unknown, values: Record<string, unknown>) =>
  at.deps.db.updateTable('users').set(values).where('id', '=', String(id)).execute()

describe('the first sign-in', () => {
  test('creates an account, which is found again by the subject, also after a change of its address', async () => {
    const { user } = await arrive({
      sub: 'n1',
      email: 'New@example.com',
      preferred_username: 'newcomer@corp',
      name: 'New Comer',
    })
    expect(user).toMatchObject({ email: 'new@example.com', userName: 'newcomer', displayName: 'New Comer' })
    const again = await arrive({ sub: 'n1', email: 'married@example.com', name: 'New Comer' })
    expect(again.user).toMatchObject({ id: user!.id, email: 'new@example.com' })
    const withoutAddress = await arrive({ sub: 'n1' })
    expect(withoutAddress.user).toMatchObject({ id: user!.id })
  })

  test('is the only one that needs an address: later ones work also when the provider has one that is not accepted', async () => {
    const unusable = 'moved..away@example.com'
    expect(await arrive({ sub: 'u1', email: unusable })).toEqual({ refused: 'unusable_email' })
    const { user } = await arrive({ sub: 'u1', email: 'moved@example.com' })
    expect((await arrive({ sub: 'u1', email: unusable })).user).toMatchObject({ id: user!.id })
    await arrive({ sub: 'u2', email: 'stays@example.com' }, { id: 'strict' })
    expect(await arrive({ sub: 'u2', email: unusable }, { id: 'strict' })).toEqual({ refused: 'domain_not_allowed' })
  })

  test('takes a display name as long as those that people may choose, in one line', async () => {
    const name = `${'Ann '.repeat(24)}Last`
    const { user } = await arrive({ sub: 'l1', email: 'long@example.com', name: name.replace(' ', '\n') })
    expect(user).toMatchObject({ displayName: name })
    const longer = await arrive({ sub: 'l1', email: 'long@example.com', name: `${name} name` })
    expect(longer.user).toMatchObject({ displayName: name })
  })

  test('finds an existing account by its verified address', async () => {
    const id = await addPerson(server, 'known')
    expect((await arrive({ sub: 'k1', email: 'KNOWN@example.com' })).user).toMatchObject({ id })
  })

  test.each([
    ['unverified', { email_verified: false }],
    ['not said to be verified', { email_verified: undefined }],
    ['verified in a way of its own', { email_verified: 'yes' }],
  ])('does not by an address that is %s', async (_, verified) => {
    const about = { sub: 'thief', email: 'boss@example.com', ...verified }
    await addPerson(server, 'boss').catch(() => {})
    expect(await arrive(about)).toEqual({ refused: 'no_verified_email' })
    expect(await arrive({ ...about, sub: 'trusted', email: 'trusted@example.com' }, { id: 'trusting' })).toHaveProperty(
      'user',
    )
  })

  test('does not by an address with U+0000, which is not removed from it', async () => {
    await addPerson(server, 'owner')
    expect(await arrive({ sub: 'nul', email: 'ow\0ner@example.com' })).toEqual({ refused: 'unusable_email' })
    const named = { sub: 'nul', email: 'nul@example.com', preferred_username: 'nu\0l', name: 'Nu\0l' }
    expect((await arrive(named)).user).toMatchObject({ userName: 'nul', displayName: 'Nu l' })
  })

  test('trusts the address of another claim only if it is the verified one, or if the operator trusts all', async () => {
    const id = await addPerson(server, 'chief')
    const about = { sub: 'c1', email: 'own@example.com', contact: 'chief@example.com' }
    expect(await arrive(about, { id: 'contacts' })).toEqual({ refused: 'no_verified_email' })
    expect(await arrive({ ...about, email: undefined }, { id: 'contacts' })).toEqual({ refused: 'no_verified_email' })
    const same = { sub: 'c2', email: 'Third@example.com', contact: 'third@example.com' }
    expect((await arrive(same, { id: 'contacts' })).user).toMatchObject({ email: 'third@example.com' })
    expect((await arrive(about, { id: 'trusted-contacts' })).user).toMatchObject({ id })
  })

  test('does not give an account to somebody who got its address later', async () => {
    const { user } = await arrive({ sub: 'leaver', email: 'role@example.com' })
    expect(user).toBeDefined()
    expect(await arrive({ sub: 'joiner', email: 'role@example.com' })).toEqual({ refused: 'already_linked' })
  })

  test('proves the address: an account that somebody registered with it loses its password and sessions', async () => {
    const id = await addPerson(server, 'squatted')
    await setUser(server, id, { emailUnproven: true, passwordHash: 'of the squatter' })
    expect((await arrive({ sub: 's1', email: 'squatted@example.com' })).user).toMatchObject({ id })
    const row = await server.deps.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ passwordHash: null, emailUnproven: false })
  })

  test('two of them at once make one account', async () => {
    issuer.claims = { sub: 'twin', email: 'twin@example.com', email_verified: true }
    issuer.userInfo = { sub: 'twin' }
    const arrived = await Promise.all([1, 2, 3].map(() => server.browser().arrive(`${appUrl}/auth/oauth/corp`)))
    const ids = await Promise.all(arrived.map(async ({ access_token }) => (await server.whoIs(access_token)).user?.id))
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toBeDefined()
  })
})

describe('people who may not sign in', () => {
  test('are those of other domains', async () => {
    const strict = { id: 'strict' }
    expect(await arrive({ sub: 'd1', email: 'in@Example.com' }, strict)).toHaveProperty('user')
    expect(await arrive({ sub: 'd2', email: 'out@example.org' }, strict)).toEqual({ refused: 'domain_not_allowed' })
    expect(await arrive({ sub: 'd3', email: 'out@evil.example.com' }, strict)).toEqual({
      refused: 'domain_not_allowed',
    })
    expect(await arrive({ sub: 'd1', email: 'gone@example.org' }, strict)).toEqual({ refused: 'domain_not_allowed' })
  })

  test('are not those of an allowed domain in its other spelling', async () => {
    const strict = { id: 'strict' }
    expect(await arrive({ sub: 'd4', email: 'in@xn--d-uga0v4h.pl' }, strict)).toHaveProperty('user')
    expect(await arrive({ sub: 'd5', email: 'in@bücher.example' }, strict)).toHaveProperty('user')
    expect(await arrive({ sub: 'd6', email: 'in@buecher.example' }, strict)).toEqual({ refused: 'domain_not_allowed' })
  })

  test('are the deactivated', async () => {
    const { user } = await arrive({ sub: 'off', email: 'off@example.com' })
    await setUser(server, user!.id, { deactivatedAt: 1 })
    expect(await arrive({ sub: 'off', email: 'off@example.com' })).toEqual({ refused: 'account_deactivated' })
    const failures = server.deps.db.selectFrom('auditLog').select('metadata').where('action', '=', 'login.failure')
    expect(await failures.where('targetId', '=', String(user!.id)).execute()).toEqual([
      { metadata: { method: 'oauth', reason: 'account_deactivated' } },
    ])
  })

  test('removed people may, but get a new account instead of the old one', async () => {
    const { user } = await arrive({ sub: 'back', email: 'back@example.com' })
    await setUser(server, user!.id, { removedAt: 1 })
    const { user: next } = await arrive({ sub: 'back', email: 'back@example.com' })
    expect(next!.id).not.toBe(user!.id)
  })
})

describe('where an invitation is required', () => {
  const closed = running({ oauth: { custom } })

  test('strangers are refused', async () => {
    expect(await arrive({ sub: 'x', email: 'stranger@example.com' }, { at: closed })).toEqual({
      refused: 'not_invited',
    })
  })
})

describe('the data of the directory', () => {
  const admin = { realm_access: { roles: ['user', 'chat-admin'] } }

  test('a role makes an admin, and its loss ends that', async () => {
    await setUser(server, await addPerson(server, 'standing-admin'), { isAdmin: true })
    const about = { sub: 'r1', email: 'r1@example.com' }
    expect((await arrive(about)).user).toMatchObject({ isAdmin: false })
    expect((await arrive({ ...about, ...admin })).user).toMatchObject({ isAdmin: true, role: 'admin' })
    expect((await arrive(about)).user).toMatchObject({ isAdmin: false, role: 'member' })
    expect((await arrive({ sub: 'r2', email: 'r2@example.com', ...admin })).user).toMatchObject({ isAdmin: true })
  })

  test('an admin who was appointed by an admin stays an admin', async () => {
    const { user } = await arrive({ sub: 'r3', email: 'r3@example.com' })
    await setUser(server, user!.id, { isAdmin: true })
    expect((await arrive({ sub: 'r3' })).user).toMatchObject({ isAdmin: true })
    expect((await arrive({ sub: 'r3', ...admin })).user).toMatchObject({ isAdmin: true })
    expect((await arrive({ sub: 'r3' })).user).toMatchObject({ isAdmin: true })
  })

  test('guests stay guests', async () => {
    const { user } = await arrive({ sub: 'g1', email: 'g1@example.com' })
    await setUser(server, user!.id, { isGuest: true })
    expect((await arrive({ sub: 'g1', ...admin })).user).toMatchObject({ role: 'guest', isAdmin: false })
  })

  test('the display name is updated, with one event', async () => {
    const about = { sub: 'l1', email: 'l1@example.com' }
    const { user } = await arrive({ ...about, name: 'Lin One' })
    await server.recorded()
    await arrive({ ...about, name: ' Lin\nTwo ' })
    await arrive({ ...about, name: 'Lin Two' })
    const told = (await server.recorded()).filter(({ type }) => type === 'UPDATE_USER')
    expect(told).toMatchObject([{ payload: { id: user!.id, displayName: 'Lin Two' } }])
    const row = await server.deps.db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', String(user!.id))
      .executeTakeFirst()
    expect(row).toMatchObject({ managedBy: 'sso' })
  })

  describe('the language', () => {
    const languageOf = async (user: Record<string, unknown> | undefined) =>
      (
        await server.deps.db
          .selectFrom('users')
          .select('language')
          .where('id', '=', String(user!.id))
          .executeTakeFirst()
      )?.language

    test('is that of the claim at each sign-in, if there are mails in it', async () => {
      const about = { sub: 'lang1', email: 'lang1@example.com' }
      const languages: unknown[] = []
      for (const locale of ['de_AT', 'ar', 'fr-FR', undefined, ['de'], 7, 'en-US']) {
        languages.push(await languageOf((await arrive({ ...about, locale })).user))
      }
      expect(languages).toEqual(['de', 'ar', 'ar', 'ar', 'de', 'de', 'en'])
    })

    test('stays when the person has chosen it, or when a directory has sent one by SCIM', async () => {
      const about = { sub: 'lang2', email: 'lang2@example.com', locale: 'de' }
      const { user } = await arrive(about)
      await setUser(server, user!.id, { language: 'ar', preferredLanguage: 'ar-EG' })
      expect(await languageOf((await arrive(about)).user)).toBe('ar')
      await setUser(server, user!.id, { preferredLanguage: 'fr' })
      expect(await languageOf((await arrive(about)).user)).toBe('de')
      await setUser(server, user!.id, { language: 'ar', languageChosen: true })
      expect(await languageOf((await arrive(about)).user)).toBe('ar')
    })
  })

  test('names of inherited properties are not claims', async () => {
    expect((await arrive({ sub: 'p1', email: 'p1@example.com', realm_access: 'constructor' })).user).toMatchObject({
      isAdmin: false,
    })
  })
})

describe('the groups of the directory', () => {
  const actor = { actorId: 'operator', ip: null, now: 1 }

  const groupsOf = async (id: unknown) => {
    const rows = await server.deps.db
      .selectFrom('groupMembers')
      .innerJoin('groups', 'groups.id', 'groupMembers.groupId')
      .select(['handle', 'name', 'source'])
      .where('userId', '=', String(id))
      .orderBy('handle')
      .execute()
    return rows.map(({ handle, name, source }) => `${source} ${handle} ${name}`)
  }
  const add = (handle: string, source: 'local' | 'scim', members: string[] = []) =>
    server.deps.db
      .transaction()
      .execute((trx) => createGroup(trx, { handle, name: handle, members }, { source, ...actor }))

  test('are synchronised exactly, with events and audit entries; a sign-in without the claim changes none', async () => {
    const about = { sub: 'm1', email: 'm1@example.com' }
    const { user } = await arrive({ ...about, groups: ['Chat Team', '/eng/backend', 'Ünït.1'] })
    expect(await groupsOf(user!.id)).toEqual([
      'sso chat-team Chat Team',
      'sso eng-backend /eng/backend',
      'sso ünït.1 Ünït.1',
    ])
    await add('by-hand', 'local', [String(user!.id)])
    await server.recorded()
    await arrive(about)
    await arrive({ ...about, groups: ['Ünït.1', '/eng/backend', 'Chat Team', 'Chat Team'] })
    expect((await server.recorded()).filter(({ type }) => type?.endsWith('_GROUP'))).toEqual([])

    await arrive({ ...about, groups: ['Chat Team', 'sales'] })
    const followed = ['local by-hand by-hand', 'sso chat-team Chat Team', 'sso sales sales']
    expect(await groupsOf(user!.id)).toEqual(followed)
    const told = (await server.recorded()).filter(({ type }) => type?.endsWith('_GROUP'))
    expect(told.map(({ type, payload }) => `${type} ${payload!.handle}`).toSorted()).toEqual([
      'NEW_GROUP sales',
      'UPDATE_GROUP eng-backend',
      'UPDATE_GROUP ünït.1',
    ])
    const audited = await server.deps.db
      .selectFrom('auditLog')
      .select('action')
      .where('targetType', '=', 'group')
      .where('actorId', '=', String(user!.id))
      .execute()
    expect(audited.map(({ action }) => action).toSorted()).toEqual([
      ...Array(4).fill('group.create'),
      ...Array(2).fill('group.members.update'),
    ])
    await arrive({ ...about, groups: [] })
    expect(await groupsOf(user!.id)).toEqual(['local by-hand by-hand'])
  })

  test('names that are taken, alike or no names are passed over with a warning', async () => {
    await addPerson(server, 'olga')
    await add('ours', 'local')
    await add('provisioned', 'scim')
    const refused = ['OLGA', 'ours', 'provisioned', '@here', '//', 'x'.repeat(65), 'a\u0000b', 'Plain-Group']
    const { user } = await arrive({ sub: 'm2', email: 'm2@example.com', groups: ['plain group', ...refused] })
    expect(await groupsOf(user!.id)).toEqual(['sso plain-group plain group'])
    const warned = server.logged.map((line) => JSON.parse(line)).find(({ userId }) => userId === user!.id)
    expect(warned).toMatchObject({ groups: expect.arrayContaining(['OLGA', 'ours', 'provisioned', 'Plain-Group']) })
    expect(warned.groups).toHaveLength(8)
  })

  test('make people members of channels, and end these memberships', async () => {
    const about = { sub: 'm3', email: 'm3@example.com' }
    const { db } = server.deps
    const { user } = await arrive({ ...about, groups: ['builders'] })
    await arrive({ ...about, groups: [] })
    const group = await db.selectFrom('groups').select('id').where('handle', '=', 'builders').executeTakeFirstOrThrow()
    const channel = { id: uuidv7(), kind: 'private' as const, name: 'site', nameKey: 'site', createdAt: 1 }
    await db.insertInto('channels').values(channel).execute()
    await db.insertInto('channelGroups').values({ channelId: channel.id, groupId: group.id }).execute()
    const memberships = () =>
      db.selectFrom('channelMembers').select('channelId').where('userId', '=', String(user!.id)).execute()
    await arrive({ ...about, groups: ['builders'] })
    expect(await memberships()).toEqual([{ channelId: channel.id }])
    await arrive({ ...about, groups: 'others' })
    expect(await memberships()).toEqual([])
  })

  test('at most 200 are synced, and two sign-ins at once create each of them once', async () => {
    const groups = Array.from({ length: 201 }, (_, index) => `crowd ${index}`)
    const { user } = await arrive({ sub: 'm4', email: 'm4@example.com', groups })
    expect(await groupsOf(user!.id)).toHaveLength(200)

    const about = { sub: 'm5', email: 'm5@example.com', groups: ['new 1', 'new 2', 'crowd 1'] }
    await arrive({ ...about, groups: [] })
    issuer.claims = { ...about, email_verified: true }
    issuer.userInfo = { sub: 'm5' }
    const arrived = await Promise.all([1, 2, 3].map(() => server.browser().arrive(`${appUrl}/auth/oauth/corp`)))
    const ids = await Promise.all(arrived.map(async ({ access_token }) => (await server.whoIs(access_token)).user?.id))
    expect(new Set(ids).size).toBe(1)
    expect(await groupsOf(ids[0])).toEqual(['sso crowd-1 crowd 1', 'sso new-1 new 1', 'sso new-2 new 2'])
  })
})
