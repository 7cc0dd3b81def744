import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import type { Topology } from '../src/launch.ts'
import { addressAttacks } from './address-attacks.ts'
import { bodyAttacks } from './body-attacks.ts'
import { connectionAttacks } from './connection-attacks.ts'
import { targetServer } from './target-server.ts'

/** Sends requests to every described route that no client should send. */
export function attacks(topology: Topology) {
  describe(topology, () => {
    const server = targetServer(topology)
    // Thousands of requests each.
    describe('bodies', { timeout: 120_000 }, () => bodyAttacks(server))
    describe('addresses', { timeout: 120_000 }, () => addressAttacks(server))
    describe('connections', () => connectionAttacks(server))

    test('after all that the server did not complain of a fault of its own, and works', async () => {
      expect(server.installation.output).not.toMatch(/"level":"?(50|60|error|fatal)/)
      expect(server.installation.output).not.toMatch(/unhandled|uncaught/i)
      const ann = await Person.signIn(server.baseUrl, 'ann@example.com')
      const stream = await ann.opensStream()
      const message = await ann.says('all well', await ann.creates({ name: 'afterwards' }))
      await stream.waitFor('NEW_MESSAGE', { id: message.id })
      await stream.close()
    })
  })
}
