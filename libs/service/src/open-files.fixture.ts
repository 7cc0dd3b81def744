/** A process that a test starts with a low limit of open files. It prints the port on which it listens. */
import type { AddressInfo } from 'node:net'
import { configWithoutServers } from '@parley/test/settings'
import { buildApp, openDeps } from './index.ts'

const config = await configWithoutServers({ log: { level: 'warn' } })
const { deps } = openDeps('test', config)
const { fastify } = await buildApp({ deps, checks: {}, position: 'edge', filesPerStream: 2 })
await fastify.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ port: (fastify.server.address() as AddressInfo).port })}\n`)
