import { expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'
import { Owner } from '../second-factors/second-factors.testing.ts'

const server = runningAuth({ auth: { authMode: 'password' }, email: { host: 'mail.example.com' } })

test.each([
  ['a short', 'curl/8.0'],
  ['a very long', `Mozilla/5.0 ${'x'.repeat(4_000)}`],
])('a device with %s user agent is new once', async (_, userAgent) => {
  const owner = await Owner.create(server)
  const mails = async () => (await server.mailTo(owner.email)).map(({ text }) => text)
  await owner.login({ 'user-agent': 'the first' })
  expect(await mails()).toEqual([])
  for (let times = 0; times < 2; times++) await owner.login({ 'user-agent': userAgent })
  expect(await mails()).toEqual([expect.stringContaining(`Program: ${userAgent.slice(0, 300)}\n`)])
})
