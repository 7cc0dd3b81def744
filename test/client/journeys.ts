import { type Cast, Person } from '@parley/test'
import { describe } from 'vitest'
import { clientJourneys } from './client-journeys.ts'
import { cookieSessionJourneys } from './cookie-session-journeys.ts'
import { joinedJourneys } from './joined-journeys.ts'
import { lateResponseJourneys } from './late-response-journeys.ts'
import { outboxJourneys } from './outbox-journeys.ts'
import { type Pages, sharedStreamJourneys } from './shared-stream-journeys.ts'
import { storeJourneys } from './store-journeys.ts'
import { syncJourneys } from './sync-journeys.ts'
import { timelineJourneys } from './timeline-journeys.ts'
import { uploadJourneys } from './upload-journeys.ts'

/** The start of every journey of a client: a running server, and signed-in people. */
export interface ClientServer extends Cast {
  readonly baseUrl: string
  /** An unused name, because journeys share one server. */
  unique(name: string): string
  /** Signs in somebody whom nobody knows yet. */
  newcomer(name: string): Promise<Person>
}

/** `running` is called only when it is needed, because journeys are declared before the server has started. */
export function journeys(name: string, running: () => Cast & { baseUrl: string }, pages: Pages) {
  let count = 0
  const server: ClientServer = {
    get baseUrl() {
      return running().baseUrl
    },
    get people() {
      return running().people
    },
    get channel() {
      return running().channel
    },
    unique: (prefix) => `${prefix}-${++count}`,
    newcomer: (name) => Person.signIn(server.baseUrl, `${server.unique(name)}@example.com`),
  }
  describe(name, () => {
    describe('client', () => clientJourneys(server))
    describe('cookie session', () => cookieSessionJourneys(server))
    describe('upload', () => uploadJourneys(server))
    describe('shared stream', () => sharedStreamJourneys(server, pages))
    describe('sync', () => syncJourneys(server))
    describe('timeline', () => timelineJourneys(server))
    describe('store', () => storeJourneys(server))
    describe('outbox', () => outboxJourneys(server))
    describe('joined', () => joinedJourneys(server))
    describe('late response', () => lateResponseJourneys(server))
  })
}
