import { loadConfig } from '@parley/config'
import { expect, test } from 'vitest'
import { greeting } from './greeting.ts'

test.each(['dev', 'password', 'magic-link'] as const)('the greeting puts no token in a URL (%s)', async (authMode) => {
  const config = await loadConfig({
    argv: [],
    env: {},
    defaults: {
      auth: { authMode, jwtSecret: 'a secret of at least 32 characters' },
      email: { host: 'mail.example.com' },
      database: { url: 'postgres://nobody@127.0.0.1/none' },
      redis: { url: 'redis://127.0.0.1' },
    },
  })
  const text = greeting(config, 'http://localhost:3000')
  expect(text).toContain('http://localhost:3000/docs')
  expect(text).not.toMatch(/https?:[^\s"']*token/i)
})
