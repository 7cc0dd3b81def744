import { Person } from '@parley/test'
import type { Installation } from '../src/launch.ts'

/**
 * What every journey starts from: a running installation and people who may come in. The test environment is a server within the
 * process of the test; these journeys stop, kill and restart theirs, as solo and as a cluster.
 */
export interface TestServer {
  readonly installation: Installation
  readonly baseUrl: string
  /** The initial admin, each time with a session of their own. */
  admin(): Promise<Person>
  /** Somebody who has never been here before. */
  newcomer(name: string): Promise<Person>
  /** A name nobody has taken: journeys share one installation. */
  unique(name: string): string
}

export interface TestServerOptions {
  /** Where people come in; the installation's own address unless something stands in front of it. */
  baseUrl?: () => string
  /** Stands in every unique name, where several test servers share an installation. */
  mark?: string
}

/** `installation` is looked at when it is needed: journeys are described before anything has started. */
export function createTestServer(installation: () => Installation, options: TestServerOptions = {}): TestServer {
  const { baseUrl = () => installation().baseUrl, mark = '' } = options
  let count = 0
  const unique = (name: string) => `${name}-${mark}${++count}`
  return {
    get installation() {
      return installation()
    },
    get baseUrl() {
      return baseUrl()
    },
    admin: () => Person.signIn(baseUrl(), 'admin@example.com'),
    newcomer: (name) => Person.signIn(baseUrl(), `${unique(name)}@example.com`),
    unique,
  }
}
