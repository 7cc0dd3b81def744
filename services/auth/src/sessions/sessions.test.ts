import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment({ auth: { maxActiveSessions: 3 } })
const signIn = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const isIn = async (person: Person) => (await person.get('/auth/me')).status === 200
const sessionsOf = async (person: Person) => (await person.get('/auth/sessions')).body.sessions

describe('signing in', () => {
  test('beyond the allowed number ends the oldest session and its stream', async () => {
    const first = await signIn('ann')
    const stream = await first.opensStream()
    const others = [await signIn('ann'), await signIn('ann')]
    expect(await isIn(first)).toBe(true)

    const fourth = await signIn('ann')
    expect(await isIn(first)).toBe(false)
    expect(await Promise.all([...others, fourth].map(isIn))).toEqual([true, true, true])
    await stream.ended
  })

  test('twenty times at once leaves exactly the allowed number', async () => {
    await signIn('bob')
    const people = await Promise.all(Array.from({ length: 20 }, () => signIn('bob')))
    const inside = await Promise.all(people.map(isIn))
    expect(inside.filter(Boolean)).toHaveLength(3)
    expect(await sessionsOf(people[inside.indexOf(true)]!)).toHaveLength(3)
  })
})

describe('GET /auth/sessions', () => {
  test('lists the active ones, the newest first, and marks the caller’s', async () => {
    await signIn('carol')
    const carol = await signIn('carol')
    const [current, earlier, ...none] = await sessionsOf(carol)
    expect(current).toEqual({
      id: expect.any(String),
      createdAt: expect.any(Number),
      lastUsedAt: expect.any(Number),
      expiresAt: expect.any(Number),
      ip: '127.0.0.1',
      userAgent: null,
      isCurrent: true,
    })
    expect(earlier).toMatchObject({ isCurrent: false })
    expect(none).toEqual([])
  })

  test('a request without a token is refused', async () => {
    expect(await environment.people.nobody.get('/auth/sessions')).toMatchObject({ status: 401 })
  })
})

describe('POST /auth/logout', () => {
  test('ends the current session, and its tokens work no more', async () => {
    const dave = await signIn('dave')
    const other = await signIn('dave')
    const stream = await dave.opensStream()
    expect(await dave.post('/auth/logout')).toMatchObject({
      status: 200,
      body: { success: true, message: expect.any(String) },
    })
    await stream.ended
    expect([await isIn(dave), await isIn(other)]).toEqual([false, true])
    expect(await dave.post('/auth/refresh', { refreshToken: dave.refreshToken })).toMatchObject({ status: 401 })
  })

  test('ends the session of the given refresh token, and is idempotent', async () => {
    const erin = await signIn('erin')
    const other = await signIn('erin')
    const stream = await other.opensStream()
    for (const _ of [1, 2]) {
      expect(await erin.post('/auth/logout', { refreshToken: other.refreshToken })).toMatchObject({ status: 200 })
    }
    expect([await isIn(erin), await isIn(other)]).toEqual([true, false])
    await stream.ended
  })

  test('never ends the session of somebody else', async () => {
    const [frank, grace] = [await signIn('frank'), await signIn('grace')]
    expect(await frank.post('/auth/logout', { refreshToken: grace.refreshToken })).toMatchObject({ status: 403 })
    expect(await frank.post('/auth/logout', { refreshToken: 'nonsense' })).toMatchObject({ status: 401 })
    expect(await frank.post('/auth/logout', { refreshToken: 7 })).toMatchObject({ status: 400 })
    expect([await isIn(frank), await isIn(grace)]).toEqual([true, true])
  })
})

describe('DELETE /auth/sessions', () => {
  test('ends all but the one whose refresh token is given', async () => {
    const [first, second, kept] = [await signIn('heidi'), await signIn('heidi'), await signIn('heidi')]
    const response = await first.delete('/auth/sessions', { refreshToken: kept.refreshToken })
    expect(response).toMatchObject({ status: 200, body: { success: true, ended: 2 } })
    expect(await Promise.all([first, second, kept].map(isIn))).toEqual([false, false, true])
  })

  test('without a body ends also the caller’s current one, and no session of other people', async () => {
    const [ivan, other, judy] = [await signIn('ivan'), await signIn('ivan'), await signIn('judy')]
    const streams = [await ivan.opensStream(), await other.opensStream()]
    expect(await ivan.delete('/auth/sessions')).toMatchObject({ status: 200, body: { ended: 2 } })
    expect(await Promise.all([ivan, other, judy].map(isIn))).toEqual([false, false, true])
    await Promise.all(streams.map(({ ended }) => ended))
  })

  test('with somebody else’s refresh token ends nothing', async () => {
    const [kim, lee] = [await signIn('kim'), await signIn('lee')]
    expect(await kim.delete('/auth/sessions', { refreshToken: lee.refreshToken })).toMatchObject({ status: 403 })
    expect([await isIn(kim), await isIn(lee)]).toEqual([true, true])
  })
})

describe('DELETE /auth/sessions/:sessionId', () => {
  test('ends one', async () => {
    const [mallory, other] = [await signIn('mallory'), await signIn('mallory')]
    const [{ id }] = await sessionsOf(other)
    expect(await mallory.delete(`/auth/sessions/${id}`)).toMatchObject({ status: 200, body: { success: true } })
    expect([await isIn(mallory), await isIn(other)]).toEqual([true, false])
    expect(await mallory.delete(`/auth/sessions/${id}`)).toMatchObject({ status: 404 })
  })

  test('finds only the caller’s own sessions', async () => {
    const [niaj, olivia] = [await signIn('niaj'), await signIn('olivia')]
    const [{ id }] = await sessionsOf(olivia)
    expect(await niaj.delete(`/auth/sessions/${id}`)).toMatchObject({ status: 404 })
    expect(await niaj.delete('/auth/sessions/nonsense')).toMatchObject({ status: 404 })
    expect(await isIn(olivia)).toBe(true)
  })
})
