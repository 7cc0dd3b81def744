import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { auth } from '../service.ts'

const server = runningService(auth, { auth: { isInviteRequired: false, maxActiveSessions: 3 } })
const signIn = (name: string) => Person.signIn(server.baseUrl, `${name}@example.com`)
const isIn = async (person: Person) => (await person.get('/auth/me')).status === 200
const sessionsOf = async (person: Person) => (await person.get('/auth/sessions')).body.sessions
const endedIn = (rows: Awaited<ReturnType<typeof server.recorded>>) =>
  rows.flatMap(({ routing }) => routing.endSessions ?? [])

describe('signing in', () => {
  test('beyond the allowed number ends the oldest session and says so to the streams', async () => {
    const first = await signIn('ann')
    const [oldest] = await sessionsOf(first)
    const others = [await signIn('ann'), await signIn('ann')]
    expect(await isIn(first)).toBe(true)
    await server.recorded()

    const fourth = await signIn('ann')
    expect(await isIn(first)).toBe(false)
    expect(await Promise.all([...others, fourth].map(isIn))).toEqual([true, true, true])
    expect(await server.recorded()).toEqual([{ routing: { to: 'nobody', endSessions: [oldest.id] } }])
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

  test('nobody is refused', async () => {
    expect(await Person.nobody(server.baseUrl).get('/auth/sessions')).toMatchObject({ status: 401 })
  })
})

describe('POST /auth/logout', () => {
  test('ends the current session, and its tokens are worth nothing', async () => {
    const dave = await signIn('dave')
    const other = await signIn('dave')
    expect(await dave.post('/auth/logout')).toMatchObject({
      status: 200,
      body: { success: true, message: expect.any(String) },
    })
    expect(await isIn(dave)).toBe(false)
    expect(await isIn(other)).toBe(true)
    expect(await dave.post('/auth/refresh', { refreshToken: dave.refreshToken })).toMatchObject({ status: 401 })
  })

  test('ends the session of the given refresh token, once', async () => {
    const erin = await signIn('erin')
    const other = await signIn('erin')
    await server.recorded()
    for (const _ of [1, 2]) {
      expect(await erin.post('/auth/logout', { refreshToken: other.refreshToken })).toMatchObject({ status: 200 })
    }
    expect([await isIn(erin), await isIn(other)]).toEqual([true, false])
    expect(endedIn(await server.recorded())).toHaveLength(1)
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
    const reply = await first.delete('/auth/sessions', { refreshToken: kept.refreshToken })
    expect(reply).toMatchObject({ status: 200, body: { success: true, ended: 2 } })
    expect(await Promise.all([first, second, kept].map(isIn))).toEqual([false, false, true])
  })

  test('without a body ends the caller’s own too, and nobody else’s', async () => {
    const [ivan, other, judy] = [await signIn('ivan'), await signIn('ivan'), await signIn('judy')]
    await server.recorded()
    expect(await ivan.delete('/auth/sessions')).toMatchObject({ status: 200, body: { ended: 2 } })
    expect(await Promise.all([ivan, other, judy].map(isIn))).toEqual([false, false, true])
    expect(endedIn(await server.recorded())).toHaveLength(2)
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

  test('knows only the caller’s own', async () => {
    const [niaj, olivia] = [await signIn('niaj'), await signIn('olivia')]
    const [{ id }] = await sessionsOf(olivia)
    expect(await niaj.delete(`/auth/sessions/${id}`)).toMatchObject({ status: 404 })
    expect(await niaj.delete('/auth/sessions/nonsense')).toMatchObject({ status: 404 })
    expect(await isIn(olivia)).toBe(true)
  })
})
