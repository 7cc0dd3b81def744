import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import type { Topology } from '../src/launch.ts'
import { addressAttacks } from './address.attacks.ts'
import { bodyAttacks } from './body.attacks.ts'
import { connectionAttacks } from './connection.attacks.ts'
import { hostileStage } from './stage.ts'

/** Every described route is given what no client should send. */
export function attacks(topology: Topology) {
  describe(topology, () => {
    const stage = hostileStage(topology)
    // Thousands of requests each.
    describe('bodies', { timeout: 120_000 }, () => bodyAttacks(stage))
    describe('addresses', { timeout: 120_000 }, () => addressAttacks(stage))
    describe('connections', () => connectionAttacks(stage))

    test('after all that the server did not complain of a fault of its own, and works', async () => {
      expect(stage.installation.output).not.toMatch(/"level":"?(50|60|error|fatal)/)
      expect(stage.installation.output).not.toMatch(/unhandled|uncaught/i)
      const ann = await Person.signIn(stage.baseUrl, 'ann@example.com')
      const stream = await ann.opensStream()
      const message = await ann.says('all well', await ann.creates({ name: 'afterwards' }))
      await stream.waitFor('NEW_MESSAGE', { id: message.id })
      await stream.close()
    })
  })
}
