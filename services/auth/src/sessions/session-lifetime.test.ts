import { expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'
import { Owner } from '../second-factors/second-factors.testing.ts'

const dayMs = 86_400_000
const server = runningAuth({ auth: { authMode: 'password', sessionMaxDays: 10 } })

test('a session ends auth.sessionMaxDays after its start, also when it is refreshed', async () => {
  const owner = await Owner.create(server)
  let { refreshToken } = await owner.signsIn()
  const refresh = async () => {
    const response = await server.nobody.post('/auth/refresh', { refreshToken })
    refreshToken = response.body.refreshToken ?? refreshToken
    return response
  }
  server.pass(6 * dayMs)
  const { body } = await refresh()
  const [session] = (await owner.person(body).get('/auth/sessions')).body.sessions
  expect(session.expiresAt).toBe(session.createdAt + 10 * dayMs)

  server.pass(4 * dayMs - 600_000)
  const last = await refresh()
  expect(last.status).toBe(200)
  server.pass(600_000)
  expect(await owner.person(last.body).get('/auth/me')).toMatchObject({ status: 401 })
  expect(await refresh()).toMatchObject({ status: 401 })
})
