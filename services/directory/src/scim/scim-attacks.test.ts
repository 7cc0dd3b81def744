import { randomInt, randomUUID } from 'node:crypto'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newGroup, newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment()
const { scim, filtered } = scimClient(environment)
const address = () => `${randomUUID()}@example.org`
const creates = async () => (await scim('POST', '/Users', newUser(address()))).body

/** Texts that could break a database, a query or a log. */
const oddTexts = {
  'a NUL': 'a\u0000b',
  'half a surrogate pair': 'a\ud800b',
  'a quotation mark': `' " \\ ; --`,
  'a percent sign': '%_%',
  'a line break': 'a\nb',
}

describe.each(Object.entries(oddTexts))('%s', (_, text) => {
  test('in a filter or a search finds no wrong person', async () => {
    const quoted = JSON.stringify(text)
    for (const attribute of ['userName', 'displayName', 'externalId', 'emails.value', 'id']) {
      for (const op of ['eq', 'co', 'sw', 'ew']) {
        const { status, body } = await scim('POST', '/Users/.search', {
          filter: `${attribute} ${op} ${quoted}`,
          count: 200,
        })
        expect([200, 400], JSON.stringify(body)).toContain(status)
        if (status === 200) expect([op, attribute, body.totalResults]).toEqual([op, attribute, 0])
      }
    }
  })

  test('in any attribute is stored or refused, and breaks nothing', async () => {
    const { id } = await creates()
    const group = (await scim('POST', '/Groups', newGroup(`Group ${randomUUID()}`))).body
    const requests = [
      ...[
        'userName',
        'displayName',
        'title',
        'preferredLanguage',
        'externalId',
        'name.formatted',
        'emails[type eq "work"].value',
      ].map((path) => scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value: text }))),
      scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: text, value: 'x' })),
      scim('PATCH', `/Users/${id}`, patch({ op: text, path: 'title', value: 'x' })),
      scim('PUT', `/Users/${id}`, newUser(text)),
      scim('POST', '/Users', newUser(text, { emails: [{ value: `${text}@example.org` }] })),
      ...['displayName', 'externalId'].map((path) =>
        scim('PATCH', `/Groups/${group.id}`, patch({ op: 'replace', path, value: text })),
      ),
      scim('PATCH', `/Groups/${group.id}`, patch({ op: 'add', path: 'members', value: [{ value: text }] })),
      scim('PATCH', `/Groups/${group.id}`, patch({ op: 'remove', path: `members[value eq "${text}"]` })),
      scim('POST', '/Groups', newGroup(text)),
      scim('GET', `/Users/${encodeURIComponent(text.toWellFormed())}`),
      scim('GET', `/Groups/${encodeURIComponent(text.toWellFormed())}`),
    ]
    for (const { status, body } of await Promise.all(requests)) {
      expect(status, JSON.stringify(body)).toBeLessThan(500)
    }
  })
})

describe('a name or id of a directory', () => {
  /** Different letters of three bytes each, which PostgreSQL cannot compress. */
  const letters = (count: number) =>
    Array.from({ length: count }, () => String.fromCodePoint(randomInt(0x4e00, 0x9fff))).join('')
  const change = async (path: string, value: string) => {
    const { id } = await creates()
    return scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value }))
  }

  test.each(['userName', 'externalId'])('%s is refused when it is too long for an index', async (path) => {
    const [fits, tooLong] = [letters(500), letters(501)]
    expect(await change(path, fits)).toMatchObject({ status: 200, body: { [path]: fits } })
    expect((await filtered(`${path} eq "${fits}"`)).body).toMatchObject({ totalResults: 1 })
    const refusal = { status: 400, body: { scimType: 'invalidValue' } }
    expect(await change(path, tooLong)).toMatchObject(refusal)
    expect(await change(path, letters(1_000))).toMatchObject(refusal)
  })
})

test.each([
  'userName eq "x" or 1 eq 1',
  'userName eq "x") or (1 = 1',
  'userName eq "x"/**/or/**/true',
  'userName) is not null or (userName eq "x"',
  'deactivated_at pr',
  'password_hash sw "s"',
  'users.passwordHash pr',
  'emails[passwordHash pr]',
  '__proto__ pr',
  'userName[value eq "x"]',
  'meta.lastModified gt "2020-01-01T00:00:00Z\' or true --"',
  'id in ("x")',
])('the filter %s reaches nothing that cannot be filtered by', async (filter) => {
  expect(await filtered(filter)).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } })
})

test('a filter of many conditions is executed or refused, and does not delay other requests', async () => {
  const many = Array.from({ length: 60 }, (_, n) => `not (userName co "x${n}")`).join(' and ')
  expect((await scim('POST', '/Users/.search', { filter: many })).status).toBe(200)
  expect(await scim('POST', '/Users/.search', { filter: `${many} and ${many} and ${many}` })).toMatchObject({
    status: 400,
    body: { scimType: 'invalidFilter' },
  })
})

describe('a patch that is too large', () => {
  const title = { op: 'replace', path: 'title', value: 'x' }

  test('is refused, and the largest allowed one is carried out', async () => {
    const { id } = await creates()
    const largest = Array.from({ length: 10_000 }, (_, n) => ({ ...title, value: `title ${n}` }))
    expect(await scim('PATCH', `/Users/${id}`, patch(...largest))).toMatchObject({ body: { title: 'title 9999' } })
    for (const operations of [Array(50_001).fill({ op: 'add' }), []]) {
      expect(await scim('PATCH', `/Users/${id}`, patch(...operations))).toMatchObject({
        status: 400,
        body: { scimType: 'invalidSyntax' },
      })
    }
    expect(await scim('PATCH', `/Users/${id}`, patch({ ...title, value: 'x'.repeat(20_000_000) }))).toMatchObject({
      status: 413,
      body: { status: '413' },
    })
  })

  test('of members is refused, and changes none', async () => {
    const { id } = (await scim('POST', '/Groups', newGroup(`Large ${randomUUID()}`))).body
    const value = Array.from({ length: 50_001 }, () => 'x')
    const response = await scim('PATCH', `/Groups/${id}`, patch({ op: 'add', path: 'members', value }))
    expect([response.status, response.body.scimType]).toEqual([400, 'invalidValue'])
    expect((await scim('GET', `/Groups/${id}`)).body).not.toHaveProperty('members')
  })

  test('of deep objects is refused or ignored', async () => {
    const { id } = await creates()
    let deep: object = {}
    for (let n = 0; n < 5_000; n++) deep = { deep }
    const response = await scim('PATCH', `/Users/${id}`, patch({ op: 'add', value: { unknown: deep } }))
    expect(response.status).toBeLessThan(500)
  })
})

test('the clients of a server act for one directory: each sees and changes what another one created, and the audit log says which', async () => {
  const { ada } = environment.people
  const other = (await ada.post('/admin/scim-clients', { name: 'Okta' })).body
  const asOther = { authorization: `Bearer ${other.token}` }
  const user = await creates()
  const group = (await scim('POST', '/Groups', newGroup(`Shared ${randomUUID()}`, { members: [{ value: user.id }] })))
    .body
  const remove = patch({ op: 'remove', path: 'members' })
  expect((await scim('PATCH', `/Groups/${group.id}`, remove, asOther)).status).toBe(204)
  const off = patch({ op: 'replace', path: 'active', value: false })
  expect((await scim('PATCH', `/Users/${user.id}`, off, asOther)).status).toBe(200)
  const { entries } = (await ada.get('/admin/audit-log?action=user.deactivate&limit=5')).body
  expect(entries).toContainEqual(expect.objectContaining({ targetId: user.id, actorId: `scim:${other.id}` }))

  await ada.delete(`/admin/scim-clients/${other.id}`)
  expect((await scim('GET', `/Users/${user.id}`, undefined, asOther)).status).toBe(401)
  expect((await scim('GET', `/Users/${user.id}`)).status).toBe(200)
  // The id of one client together with the secret of another is not a token.
  const [mine, theirs] = [(await ada.post('/admin/scim-clients', { name: 'x' })).body, other]
  const mixed = mine.token.slice(0, -20) + theirs.token.slice(-20)
  expect((await scim('GET', '/Users?count=0', undefined, { authorization: `Bearer ${mixed}` })).status).toBe(401)
})
