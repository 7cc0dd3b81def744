import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeEach, describe, expect, test } from 'vitest'

const week = 604_800_000
const environment = testEnvironment()
const refresh = (refreshToken: unknown) => environment.people.nobody.post('/auth/refresh', { refreshToken })

let people = 0
let person: Person
let first: string
beforeEach(async () => {
  person = await Person.signIn(environment.baseUrl, `person${++people}@example.com`)
  first = person.refreshToken!
})

/** Rotates the refresh token and returns the new one. */
async function rotated(refreshToken: string): Promise<string> {
  const { status, body } = await refresh(refreshToken)
  if (status !== 200) throw new Error(`not rotated: ${status} ${JSON.stringify(body)}`)
  return body.refreshToken
}

/** Using the first token again is refused, ends the session also for the newest token, and is audited. */
async function expectEnd(used: string, newest: string) {
  expect(await refresh(used)).toMatchObject({ status: 401 })
  expect(await isIn()).toBe(false)
  expect(await refresh(newest)).toMatchObject({ status: 401 })
  expect(await reuses()).toMatchObject([{ targetType: 'session', ip: '127.0.0.1' }])
}

const isIn = async () => (await person.get('/auth/me')).status === 200
const reuses = () =>
  environment.deps.db
    .selectFrom('auditLog')
    .selectAll()
    .where('action', '=', 'session.reuse')
    .where('actorId', '=', person.id)
    .execute()

describe('POST /auth/refresh', () => {
  test('needs no access token and returns new tokens that work', async () => {
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
    environment.pass(week - 60_000)
    const second = await rotated(first)
    environment.pass(week - 60_000)
    await rotated(second)
    environment.pass(week + 1_000)
    expect(await refresh(second)).toMatchObject({ status: 401 })
  })

  test('two tabs at once get the same successor', async () => {
    const [one, two] = await Promise.all([rotated(first), rotated(first)])
    expect(one).toBe(two)
    expect(await isIn()).toBe(true)
  })

  test('the previous token gets the same successor for 60 seconds', async () => {
    const second = await rotated(first)
    environment.pass(59_000)
    expect(await rotated(first)).toBe(second)
    expect(await isIn()).toBe(true)
    expect(await reuses()).toEqual([])
  })

  test('the previous token ends the session after 60 seconds, although its successor was not used', async () => {
    const second = await rotated(first)
    const stream = await person.opensStream()
    environment.pass(60_000)
    await expectEnd(first, second)
    await stream.ended
  })

  test('the previous token ends the session as soon as its successor has been used, also within 60 seconds', async () => {
    const second = await rotated(first)
    const third = await rotated(second)
    await expectEnd(first, third)
  })

  test('a token that is three rotations old ends the session at any time', async () => {
    const last = await rotated(await rotated(await rotated(first)))
    environment.pass(3_600_000)
    await expectEnd(first, last)
  })

  test('when a thief and the owner refresh in turn, the second turn ends the session', async () => {
    const thief = await rotated(first)
    environment.pass(600_000)
    await expectEnd(first, thief)
  })

  test('a token of an ended session is refused and not audited again', async () => {
    const second = await rotated(first)
    await expectEnd(first, await rotated(second))
    expect(await refresh(first)).toMatchObject({ status: 401 })
    expect(await reuses()).toHaveLength(1)
  })

  test('a token that waited while its successor was used ends the session and undoes no rotation', async () => {
    const { db, tokens, clock } = environment.deps
    const { sessionId } = tokens.readRefresh(first)
    const pending = await db.transaction().execute(async (trx) => {
      await trx.selectFrom('sessions').select('id').where('id', '=', sessionId).forUpdate().execute()
      const pending = refresh(first)
      await somebodyWaitsFor(trx)
      const rotations = { refreshGeneration: 2, rotatedAt: clock() }
      await trx.updateTable('sessions').set(rotations).where('id', '=', sessionId).execute()
      return { response: pending }
    })
    expect(await pending.response).toMatchObject({ status: 401 })
    const session = db.selectFrom('sessions').select(['refreshGeneration', 'endedAt']).where('id', '=', sessionId)
    expect(await session.executeTakeFirst()).toEqual({ refreshGeneration: 2, endedAt: expect.any(Number) })
  })

  test('a removed person is refused', async () => {
    await environment.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', person.id).execute()
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
