import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configWithoutServers } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { planCluster } from './cluster-plan.ts'

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', 'localhost'],
  ['::', 'localhost'],
  ['::1', '[::1]'],
])('a gateway that listens on %s is reached at %s', async (host, reached) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-plan-'))
  onTestFinished(() => rm(dataDir, { recursive: true }))
  const config = await configWithoutServers({
    dataDir,
    server: { host, port: 4321 },
    auth: { allowPublicDevMode: true },
  })
  const plan = await planCluster({ config, replicas: 1, configFile: undefined })
  expect(plan.at(-1)).toMatchObject({ name: 'gateway-1', address: `http://${reached}:4321` })
})
