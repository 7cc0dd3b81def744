import { afterAll, beforeAll, describe } from 'vitest'
import { receiverNetwork } from '../faults/subscribed-receiver.ts'
import { type Installation, launch, type Topology } from '../src/launch.ts'
import { createTestServer } from '../src/test-server.ts'
import { audienceJourneys } from './audience-journeys.ts'
import { conversationJourneys } from './conversation-journeys.ts'
import { copyJourneys } from './copy-journeys.ts'
import { eventTableJourneys } from './event-table-journeys.ts'
import { exportJourneys } from './export-journeys.ts'
import { fileJourneys } from './file-journeys.ts'
import { identityJourneys } from './identity-journeys.ts'
import { interleavingJourneys } from './interleaving-journeys.ts'
import { listingJourneys } from './listing-journeys.ts'
import { peopleJourneys } from './people-journeys.ts'
import { presenceJourneys } from './presence-journeys.ts'
import { repetitionJourneys } from './repetition-journeys.ts'
import { scopeJourneys } from './scope-journeys.ts'
import { searchJourneys } from './search-journeys.ts'
import { sessionJourneys } from './session-journeys.ts'
import { streamJourneys } from './stream-journeys.ts'
import { subscriptionJourneys } from './subscription-journeys.ts'
import { talkJourneys } from './talk-journeys.ts'

/** A journey has hundreds of requests, and the installation shares the machine with other tests. */
const patience = { timeout: 90_000 }

/** Runs the same journeys in every topology, which is started once for all of them. */
export function journeys(topology: Topology) {
  describe(topology, patience, () => {
    let installation: Installation
    beforeAll(async () => {
      installation = await launch(topology, {
        env: { PARLEY_EVENTS_OFFLINE_SECONDS: '6', PARLEY_INTEGRATIONS_ALLOWED_NETWORKS: receiverNetwork },
      })
    })
    afterAll(() => installation?.discard())

    const server = createTestServer(() => installation)
    describe('sessions', () => sessionJourneys(server))
    describe('conversation', () => conversationJourneys(server))
    describe('audience', () => audienceJourneys(server))
    describe('listing', () => listingJourneys(server))
    describe('pairs and threads', () => talkJourneys(server))
    describe('files', () => fileJourneys(server))
    describe('export', () => exportJourneys(server))
    describe('search', () => searchJourneys(server))
    describe('interleaving', () => interleavingJourneys(server))
    describe('copies', () => copyJourneys(server))
    describe('repetition', () => repetitionJourneys(server))
    describe('streams', () => streamJourneys(server))
    describe('scopes of streams', () => scopeJourneys(server))
    describe('subscriptions', () => subscriptionJourneys(server))
    describe('event table', () => eventTableJourneys(server))
    describe('people and settings', () => peopleJourneys(server))
    describe('identity', () => identityJourneys(server))
    describe('presence', () => presenceJourneys(server))
  })
}
