import { Person, somebodyWaitsFor } from '@parley/test'
import { house } from '@parley/test/house'
import { beforeEach, describe, expect, test } from 'vitest'

const week = 604_800_000
const home = house()
const refresh = (refreshToken: unknown) => home.people.nobody.post('/auth/refresh', { refreshToken })

let people = 0
let person: Person
let first: string
beforeEach(async () => {
  person = await Person.signIn(home.baseUrl, `person${++people}@example.com`)
  first = person.refreshToken!
})

/** Rotates and answers the new refresh token. */
async function rotated(refreshToken: string): Promise<string> {
  const { status, body } = await refresh(refreshToken)
  if (status !== 200) throw new Error(`not rotated: ${status} ${JSON.stringify(body)}`)
  return body.refreshToken
}

const isIn = async () => (await person.get('/auth/me')).status === 200
const reuses = () =>
  home.deps.db
    .selectFrom('auditLog')
    .selectAll()
    .where('action', '=', 'session.reuse')
    .where('actorId', '=', person.id)
    .execute()

describe('POST /auth/refresh', () => {
  test('needs no access token and answers new ones that work', async () => {
    const { status, body } = await refresh(first)
    expect({ status, body }).toEqual({
      status: 200,
      body: { accessToken: expect.any(String), refreshToken: expect.any(String), exp: 900, tokenType: 'Bearer' },
    })
    expect(body.refreshToken).not.toBe(first)
    person.token = body.accessToken
    expect(await isIn()).toBe(true)
  })

  test('lengthens the session', async () => {
    home.pass(week - 1_000)
    const second = await rotated(first)
    home.pass(week - 1_000)
    await rotated(second)
    home.pass(week + 1_000)
    expect(await refresh(second)).toMatchObject({ status: 401 })
  })

  test('two tabs at once get the same successor', async () => {
    const [one, two] = await Promise.all([rotated(first), rotated(first)])
    expect(one).toBe(two)
    expect(await isIn()).toBe(true)
  })

  test('a lost reply is repeated, however late, until the successor is used', async () => {
    const second = await rotated(first)
    home.pass(3_600_000)
    expect(await rotated(first)).toBe(second)
  })

  test('once the successor was used the earlier one is good for 60 seconds after its rotation', async () => {
    const second = await rotated(first)
    const third = await rotated(second)
    home.pass(59_000)
    expect(await rotated(first)).toBe(second)
    expect(await rotated(second)).toBe(third)
    expect(await isIn()).toBe(true)
  })

  test('later use ends the session and is written to the audit log', async () => {
    const second = await rotated(first)
    const third = await rotated(second)
    const stream = await person.opensStream()
    home.pass(61_000)

    expect(await refresh(first)).toMatchObject({ status: 401 })
    expect(await isIn()).toBe(false)
    expect(await refresh(third)).toMatchObject({ status: 401 })
    await stream.ended
    expect(await reuses()).toMatchObject([{ targetType: 'session', ip: '127.0.0.1' }])
  })

  test('so does the use of one that is three rotations old, at any time', async () => {
    await rotated(await rotated(await rotated(first)))
    expect(await refresh(first)).toMatchObject({ status: 401 })
    expect(await isIn()).toBe(false)
    expect(await reuses()).toHaveLength(1)
  })

  test('one that waited for other rotations never takes them back', async () => {
    const { db, tokens, clock } = home.deps
    const { sessionId } = tokens.readRefresh(first)
    const pending = await db.transaction().execute(async (trx) => {
      await trx.selectFrom('sessions').select('id').where('id', '=', sessionId).forUpdate().execute()
      const pending = refresh(first)
      await somebodyWaitsFor(trx)
      const rotations = { refreshGeneration: 2, rotatedAt: clock(), previousRotatedAt: clock() }
      await trx.updateTable('sessions').set(rotations).where('id', '=', sessionId).execute()
      return { reply: pending }
    })
    expect(await pending.reply).toMatchObject({
      status: 200,
      body: { refreshToken: tokens.issueRefresh(sessionId, 1) },
    })
    const session = db.selectFrom('sessions').select('refreshGeneration').where('id', '=', sessionId)
    expect(await session.executeTakeFirst()).toEqual({ refreshGeneration: 2 })
  })

  test('who was removed is refused', async () => {
    await home.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', person.id).execute()
    expect(await refresh(first)).toMatchObject({ status: 401 })
  })

  test.each([
    ['nothing', undefined, 400],
    ['a number', 7, 400],
    ['nonsense', 'nonsense', 401],
    ['an access token', 'a.b.c', 401],
  ])('%s is refused', async (_, token, status) => {
    expect(await refresh(token)).toMatchObject({ status, body: { error: expect.any(String) } })
  })
})
