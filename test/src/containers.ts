import { freePort } from '@parley/embedded'

/** A server that tests may kill, pause and start again: a process of ours or a container. */
export interface TestServer {
  /** With user, password and port. `restart()` does not change it. */
  readonly url: string
  stop(): Promise<void>
  kill(signal: NodeJS.Signals): void
  restart(): Promise<void>
}

export type InfrastructureKind = 'containers' | 'embedded'

/**
 * Chooses the servers of the tests: containers when a container engine answers, otherwise (and with
 * `TEST_INFRASTRUCTURE=embedded`) the programs that `npm start` uses. @throws when containers are required and no
 * engine answers.
 */
export async function chooseInfrastructure(required = process.env.TEST_INFRASTRUCTURE): Promise<InfrastructureKind> {
  if (required === 'embedded') return 'embedded'
  if (required !== undefined && required !== '' && required !== 'containers') {
    throw new Error(`TEST_INFRASTRUCTURE: containers or embedded, not ${required}`)
  }
  const { getContainerRuntimeClient } = await testcontainers()
  const missing = await getContainerRuntimeClient().then(
    () => undefined,
    (error: Error) => error,
  )
  if (missing && required === 'containers')
    throw new Error('TEST_INFRASTRUCTURE: no container engine answers', { cause: missing })
  return missing ? 'embedded' : 'containers'
}

/** The PostgreSQL of `docker-compose.yml`, without durability. */
export const startPostgresContainer = () =>
  startServer({
    image: 'postgres:18',
    port: 5432,
    environment: { POSTGRES_PASSWORD: password },
    command: ['postgres', '-c', 'fsync=off', '-c', 'max_connections=400'],
    // The image starts PostgreSQL once for its set-up, and then again.
    ready: { message: /database system is ready to accept connections/, times: 2 },
    urlAt: (address) => `postgres://postgres:${password}@${address}/postgres`,
  })

export const startRedisContainer = () =>
  startServer({
    image: 'redis:8',
    port: 6379,
    environment: {},
    command: ['redis-server', '--requirepass', password, '--save', '', '--maxmemory-policy', 'noeviction'],
    ready: { message: /Ready to accept connections/, times: 1 },
    urlAt: (address) => `redis://:${password}@${address}`,
  })

const password = 'of-the-tests'

interface ServerImage {
  image: string
  port: number
  environment: Record<string, string>
  command: string[]
  /** The log line of a ready server, and its number of occurrences. */
  ready: { message: RegExp; times: number }
  urlAt(address: string): string
}

async function startServer({ image, port, environment, command, ready, urlAt }: ServerImage): Promise<TestServer> {
  const { GenericContainer, getContainerRuntimeClient, Wait } = await testcontainers()
  const engine = await getContainerRuntimeClient()
  // It has a fixed port, so that it has the same port after a restart.
  const started = await new GenericContainer(image)
    .withEnvironment(environment)
    .withCommand(command)
    .withExposedPorts({ container: port, host: await freePort() })
    .withWaitStrategy(Wait.forLogMessage(ready.message, ready.times))
    .start()
  const container = engine.container.getById(started.getId())
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = (work: () => Promise<unknown>) => {
    turn = turn.then(work, work)
    return turn
  }
  return {
    url: urlAt(`${started.getHost()}:${started.getMappedPort(port)}`),
    kill(signal) {
      void inTurn(() => container.kill({ signal }))
    },
    async restart() {
      await inTurn(() => started.restart())
    },
    async stop() {
      await inTurn(() => started.stop())
    },
  }
}

/** The package is loaded only when it is needed, because loading it takes time in every test file. */
const testcontainers = () => import('testcontainers')
