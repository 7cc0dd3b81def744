import type { Installation } from './launch.ts'
import { Person } from './person.ts'

/**
 * The start of every journey: a running installation, and people who may sign in. The test environment is a server in
 * the process of the test, but these journeys stop, kill and restart their installation, solo and as a cluster.
 */
export interface TestServer {
  readonly installation: Installation
  readonly baseUrl: string
  /** The initial admin, with a new session for each call. */
  admin(): Promise<Person>
  /** A new person. */
  newcomer(name: string): Promise<Person>
  /** An unused name, because journeys share one installation. */
  unique(name: string): string
}

interface TestServerOptions {
  /** The address for people: that of the installation, or of a proxy in front of it. */
  baseUrl?: () => string
  /** A part of every unique name, when several test servers share an installation. */
  mark?: string
}

/** `installation` is called only when it is needed, because journeys are declared before the installation has started. */
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
