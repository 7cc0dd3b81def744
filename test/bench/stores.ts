import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Config, childEnvironment, type DeepPartial } from '@parley/config'
import { type Connection, connectDatabase, migrate } from '@parley/database'
import { freePort, startPostgres, startRedis } from '@parley/embedded'
import type { Options } from './options.ts'
import type { Scene } from './scene.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export const root = path.resolve(import.meta.dirname, '../..')
const jwtSecret = 'only ever used on the loopback interface by the bench'

/**
 * A PostgreSQL and a Redis only for the bench, as durable as those of `npm start`, with the schema of Parley and no
 * data.
 */
export interface Stores {
  options: Options
  directory: string
  database: Connection
  postgresUrl: string
  redisUrl: string
  jwtSecret: string
  /** The servers beside Parley, by name. */
  pids: Record<string, number>
}

/** With a name and `--data` the databases are kept after the run, and the next run continues with them. */
export async function startStores(scene: Scene, options: Options, name?: string): Promise<Stores> {
  const directory = await (options.data !== undefined && name !== undefined
    ? keptDirectory(path.resolve(options.data, name))
    : scene.keep(
        async () => realpath(await mkdtemp(path.join(tmpdir(), 'parley-bench-'))),
        (made) => rm(made, { recursive: true, force: true }),
      ))
  // When root starts PostgreSQL, it runs as another user, who must have access to this folder.
  await chmod(directory, 0o711)
  const part = (name: string) => ({ directory: path.join(directory, name), durable: true })
  const postgres = await scene.keep(
    () => startPostgres(part('postgres')),
    (started) => started.stop(),
  )
  const redis = await scene.keep(
    () => startRedis(part('redis')),
    (started) => started.stop(),
  )
  const database = await scene.keep(
    () =>
      connectDatabase({
        url: postgres.url,
        poolSize: 4,
        applicationName: 'parley-bench',
        onIdleError: () => {},
        // Filling a database needs statements that run for minutes.
        silenceMs: 1_800_000,
      }),
    (opened) => opened.close(),
  )
  await migrate(database.db)
  await runInLog(database)
  return {
    options,
    directory,
    database,
    postgresUrl: postgres.url,
    redisUrl: redis.url,
    jwtSecret,
    pids: { postgres: postgres.pid, redis: redis.pid },
  }
}

async function keptDirectory(directory: string) {
  await mkdir(directory, { recursive: true })
  return directory
}

/**
 * A server that has run for a while reuses old files of its write-ahead log. A new server first has to create each
 * file, and for some 50 ms nothing can commit. Without this the side that writes more would look slower than it is.
 */
async function runInLog({ pool }: Connection) {
  await pool.query(`alter system set min_wal_size = '${logFiles * 16}MB'`)
  await pool.query('select pg_reload_conf()')
  for (let file = 0; file < logFiles; file++) {
    await pool.query(`select pg_logical_emit_message(false, 'bench', ''), pg_switch_wal()`)
  }
  await pool.query('checkpoint')
}

const logFiles = 48

/** Every setting that is not named here has its default. */
const settings = ({ directory, postgresUrl, redisUrl, jwtSecret }: Stores): DeepPartial<Config> => ({
  dataDir: path.join(directory, 'parley'),
  log: { level: 'warn' },
  server: { shutdownSeconds: 4 },
  auth: { jwtSecret },
  database: { url: postgresUrl },
  redis: { url: redisUrl },
  rateLimit: { enabled: false },
  events: { drainSeconds: 0 },
})

/** Printed below the table: the settings that differ from those of an installation. */
export const settingsNote =
  '`rateLimit.enabled=false`, `log.level=warn`, `events.drainSeconds=0`, a run-in write-ahead log; all else default'

export interface Parley extends ServerProcess {
  port: number
}

interface StartOptions {
  args?: string[]
  nodeFlags?: string[]
  /** Settings that this part needs in addition to the usual ones. */
  settings?: DeepPartial<Config>
}

/** Starts a launcher or a service, named by its path in the repository, on a free port. */
export async function startParley(
  scene: Scene,
  stores: Stores,
  file: string,
  { args = [], nodeFlags = [], settings: further = {} }: StartOptions = {},
): Promise<Parley> {
  const port = await freePort()
  const { profile } = stores.options
  const environment = childEnvironment({ ...settings(stores), ...further, server: { port, shutdownSeconds: 4 } }, {})
  const server = await startServer(scene, {
    name: file,
    command: process.execPath,
    args: [...nodeFlags, path.join(root, file), ...args],
    // The processes of the cluster inherit this environment too.
    env: { ...ownEnvironment(), ...environment, ...(profile && { NODE_OPTIONS: profiling(profile) }) },
    readyUrl: `http://127.0.0.1:${port}/health/ready`,
  })
  return { ...server, port }
}

/** The environment without the variables that the person at the terminal has set for another installation of Parley. */
export const ownEnvironment = () => ({ PATH: process.env.PATH, HOME: process.env.HOME, LANG: process.env.LANG })

const profiling = (directory: string) => `--cpu-prof --cpu-prof-dir=${path.resolve(directory)}`
