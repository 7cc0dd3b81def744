import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'

const anonymous = 40
const environment = testEnvironment({ rateLimit: { enabled: true, perMinute: 2_000, perMinuteAnonymous: anonymous } })

test('programs behind one address do not share a limit', async () => {
  for (const name of ['first bot', 'second bot']) {
    const { token } = await createsBot(environment, name)
    const headers = { authorization: `Bearer ${token}` }
    for (let calls = 0; calls <= anonymous; calls++) {
      const response = await fetch(`${environment.baseUrl}/slack/api/auth.test`, { method: 'POST', headers })
      expect(await response.json()).toMatchObject({ ok: true })
    }
  }
})
