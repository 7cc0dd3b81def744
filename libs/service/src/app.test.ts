import { loadConfig } from '@parley/config'
import { onTestFinished, test } from 'vitest'
import { buildApp } from './app.ts'
import { openDeps } from './deps.ts'

test('wakes the relay after a request that may have recorded an event', async ({ expect }) => {
  const { app, wakes } = await countingWakes({})
  await app.inject({ method: 'GET', url: '/things' })
  await app.inject({ method: 'POST', url: '/refused' })
  expect(wakes()).toBe(0)
  await app.inject({ method: 'POST', url: '/things' })
  expect(wakes()).toBe(1)
})

test('wakes no relay in an app that only forwards requests', async ({ expect }) => {
  const { app, wakes } = await countingWakes({ recordsEvents: false })
  await app.inject({ method: 'POST', url: '/things' })
  expect(wakes()).toBe(0)
})

async function countingWakes(options: { recordsEvents?: boolean }) {
  const config = await loadConfig({
    argv: [],
    env: {},
    cwd: import.meta.dirname,
    defaults: {
      log: { level: 'silent' },
      auth: { jwtSecret: 'a secret of at least 32 characters' },
      database: { url: 'postgres://127.0.0.1:1/none' },
      redis: { url: 'redis://127.0.0.1:1' },
    },
  })
  const { deps, close } = openDeps('test', config)
  let count = 0
  const wakeRelay = () => void count++
  const { fastify } = await buildApp({ deps: { ...deps, wakeRelay }, checks: {}, position: 'inside', ...options })
  const open = { config: { access: 'none' as const } }
  fastify.get('/things', open, async () => ({}))
  fastify.post('/things', open, async () => ({}))
  fastify.post('/refused', open, async (_request, reply) => reply.code(400).send({}))
  onTestFinished(() => fastify.close().then(close))
  return { app: fastify, wakes: () => count }
}
