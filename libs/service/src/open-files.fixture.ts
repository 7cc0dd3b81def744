/** A process for the tests to start with few open files: it says at which port it listens. */
import type { AddressInfo } from 'node:net'
import { loadConfig } from '@parley/config'
import { buildApp, openDeps } from './index.ts'

const config = await loadConfig({
  argv: [],
  env: {},
  defaults: {
    log: { level: 'warn' },
    auth: { jwtSecret: 'a secret of at least 32 characters' },
    database: { url: 'postgres://nobody:nothing@127.0.0.1:1/none' },
    redis: { url: 'redis://127.0.0.1:1' },
  },
})
const { deps } = openDeps('test', config)
const { fastify } = await buildApp({ deps, checks: {}, position: 'edge', filesPerStream: 2 })
await fastify.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ port: (fastify.server.address() as AddressInfo).port })}\n`)
