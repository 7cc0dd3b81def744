import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { databaseRoles } from '@parley/database'
import { createPortFinder } from '@parley/embedded'
import type { TestDatabase } from './infrastructure.ts'
import { copyPreparedPostgres } from './prepared-postgres.ts'
import { descendantsOf, listProcesses, type RunningProcess, signal } from './processes.ts'
import { Waiters } from './waiters.ts'

export type Topology = 'solo' | 'cluster'

/**
 * The topologies of the longer test files. The tests of the services run most of the same code in one process, like
 * solo. `TEST_LONG=1` runs both topologies.
 */
export const usualTopologies: readonly Topology[] = process.env.TEST_LONG ? ['solo', 'cluster'] : ['cluster']

export interface LaunchOptions {
  /** Replicas of every service, for the cluster. */
  replicas?: number
  env?: Record<string, string>
  /** The database to use; without it the launcher starts PostgreSQL itself. In a cluster each service signs in with its role. */
  database?: Pick<TestDatabase, 'url' | 'urlOf'>
  /** The checkout to start; by default this one. */
  root?: string
}

/** This checkout. */
export const root = path.resolve(import.meta.dirname, '../..')
/** A patience, not a goal: a cluster of 18 processes needs minutes on a machine that is busy with something else. */
const startTimeoutMs = 240_000
const stopTimeoutMs = 20_000

/** The settings of tests: everybody may sign in, many times and at once. */
const testEnvironment = {
  PARLEY_AUTH_IS_INVITE_REQUIRED: 'false',
  PARLEY_AUTH_MAX_ACTIVE_SESSIONS: '1000',
  PARLEY_EVENTS_DRAIN_SECONDS: '1',
  PARLEY_LOG_LEVEL: 'warn',
  PARLEY_RATE_LIMIT_ENABLED: 'false',
}

/** Starts a topology with a new data directory and port. When the start fails, everything is removed. */
export async function launch(topology: Topology, options: LaunchOptions = {}): Promise<Installation> {
  const installation = await freshInstallation(topology, options)
  try {
    // A previous version has other tables.
    if (!options.database && !options.root) await copyPreparedPostgres(path.join(installation.directory, 'postgres'))
    await installation.start()
  } catch (error) {
    await installation.killEverything()
    await installation.discard()
    throw error
  }
  return installation
}

/** An installation with an empty data directory, which is not started yet. */
export async function freshInstallation(topology: Topology, options: LaunchOptions = {}): Promise<Installation> {
  const directory = await realpath(await mkdtemp(path.join(tmpdir(), `parley-${topology}-`)))
  // When root starts it, PostgreSQL runs as another user, who must be able to enter the directory.
  await chmod(directory, 0o711)
  return new Installation(topology, directory, await findPort(), options)
}

/*
 * Some seconds pass before a server takes its port. Launchers choose ports at 15,000 and above for their databases and services, so the
 * ports of the tests are below, and each worker of vitest has ports of its own.
 */
const portsPerWorker = 500
const firstPort = 10_000 + Number(process.env.VITEST_POOL_ID ?? 0) * portsPerWorker
const findPort = createPortFinder(firstPort, firstPort + portsPerWorker)

/** A Parley that `npm start` or `npm run cluster` runs, with its data. It can be stopped, killed and started again. */
export class Installation {
  readonly topology: Topology
  readonly directory: string
  readonly baseUrl: string
  /** The output of the launcher and its services, of all starts together. */
  output = ''
  #port: number
  #root: string
  #options: LaunchOptions
  #launcher: ChildProcess | undefined
  #waiters = new Waiters()

  constructor(topology: Topology, directory: string, port: number, options: LaunchOptions) {
    this.topology = topology
    this.directory = directory
    this.baseUrl = `http://127.0.0.1:${port}`
    this.#port = port
    this.#root = options.root ?? root
    this.#options = options
  }

  /** Resolves when the launcher says that it is ready. @throws with its output when it ends or `startTimeoutMs` pass before. */
  async start(): Promise<void> {
    const from = this.output.length
    const launcher = spawn(process.execPath, await this.#arguments(), {
      cwd: this.#root,
      env: this.#environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#launcher = launcher
    for (const stream of [launcher.stdout!, launcher.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
        this.#waiters.look()
      })
    }
    launcher.once('exit', () => this.#waiters.look())
    await this.printed(/\bis ready at http/, { from, timeoutMs: startTimeoutMs })
  }

  /** Resolves once the output after the position `from` (default: all of it) matches. */
  printed(pattern: RegExp, { from = 0, timeoutMs = 20_000 } = {}): Promise<void> {
    const explain = (why: string) => `${why} before ${pattern} was printed:\n${this.output.slice(from)}`
    const isPrinted = () => {
      if (pattern.test(this.output.slice(from))) return true
      if (this.#hasEnded) throw new Error(explain('The launcher ended'))
      return false
    }
    return this.#waiters.until(isPrinted, () => explain(`${timeoutMs} ms passed`), timeoutMs)
  }

  /** The processes of a service, or of `postgres` or `redis-server`. */
  async processesOf(name: string): Promise<RunningProcess[]> {
    const family = await descendantsOf(this.#launcher!.pid!)
    const isPart = /^(postgres|redis-server|valkey-server)$/.test(name)
    return family.filter(({ parent, command }) =>
      isPart
        ? parent === this.#launcher!.pid && path.basename(command.split(' ')[0]!) === name
        : command.includes(`services/${name}/`),
    )
  }

  /** Sends a signal to one process of a service or embedded server, which must be running. Returns its pid. */
  async kill(name: string, signalName: NodeJS.Signals, pick = 0): Promise<number> {
    const found = await this.processesOf(name)
    const target = found[pick % Math.max(1, found.length)]
    if (!target) throw new Error(`no process of ${name} is running`)
    signal(target.pid, signalName)
    return target.pid
  }

  /**
   * Replaces every process of the cluster, one replica of each service at a time; resolves when all of them are new and
   * ready.
   */
  async restartInTurn(): Promise<void> {
    const isService = ({ command }: RunningProcess) => command.includes('services/')
    const before = (await descendantsOf(this.#launcher!.pid!)).filter(isService)
    const from = this.output.length
    this.#launcher!.kill('SIGUSR2')
    await this.printed(/Every process has been replaced|rolling restart failed/, { from, timeoutMs: 180_000 })
    const after = await descendantsOf(this.#launcher!.pid!)
    const left = before.filter(({ pid }) => after.some((each) => each.pid === pid))
    if (left.length > 0) throw new Error(`not replaced: ${left.map(({ pid, command }) => `${pid} ${command}`)}`)
  }

  /** Sends SIGTERM and waits for the end. @throws when it takes too long, fails, or leaves a process behind. */
  async stop(): Promise<void> {
    const launcher = this.#launcher
    if (!launcher || this.#hasEnded) return
    const family = await descendantsOf(launcher.pid!)
    const from = this.output.length
    launcher.kill('SIGTERM')
    const left = setTimeout(() => void this.killEverything(), stopTimeoutMs)
    const [code, signalName] = (await this.#end(launcher)) as [number | null, string | null]
    clearTimeout(left)
    const alive = await this.#leftOf(family)
    for (const { pid } of alive) signal(pid, 'SIGKILL')
    if (code !== 0) {
      throw new Error(`the launcher ended with ${signalName ?? code} after:\n${this.output.slice(from)}`)
    }
    if (alive.length > 0) throw new Error(`left behind: ${alive.map(({ pid, command }) => `${pid} ${command}`)}`)
  }

  /** Kills the launcher (`kill -9`) and, by default, all processes that it has started. */
  async killEverything({ launcherOnly = false } = {}): Promise<void> {
    const launcher = this.#launcher!
    const family = launcherOnly ? [] : await descendantsOf(launcher.pid!)
    launcher.kill('SIGKILL')
    for (const { pid } of family) signal(pid, 'SIGKILL')
    await this.#end(launcher)
  }

  /** Stops the installation and removes its data. Call it at the end of a test file. */
  async discard(): Promise<void> {
    try {
      await this.stop()
    } finally {
      await rm(this.directory, { recursive: true, force: true })
    }
  }

  /** The pid of the launcher, which in solo is the whole server except PostgreSQL and Redis. */
  get pid(): number {
    return this.#launcher!.pid!
  }

  get #hasEnded() {
    return this.#launcher!.exitCode !== null || this.#launcher!.signalCode !== null
  }

  async #end(launcher: ChildProcess) {
    return this.#hasEnded ? [launcher.exitCode, launcher.signalCode] : once(launcher, 'exit')
  }

  /** The processes of the family that still run, and all others that use the data directory. */
  async #leftOf(family: RunningProcess[]): Promise<RunningProcess[]> {
    const wasOurs = ({ pid, command }: RunningProcess) =>
      family.some((each) => each.pid === pid && each.command === command)
    return (await listProcesses()).filter((each) => wasOurs(each) || each.command.includes(this.directory))
  }

  /** The arguments of `node` in the script of package.json, so that the tests start the same program as people. */
  async #arguments(): Promise<string[]> {
    const { scripts } = JSON.parse(await readFile(path.join(this.#root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const [, given] = /\bexec node (.+)$/.exec(scripts[this.topology === 'solo' ? 'start' : 'cluster']!)!
    const { replicas = 2 } = this.#options
    return [...given!.split(' '), ...(this.topology === 'cluster' ? ['--replicas', String(replicas)] : [])]
  }

  /** The environment without that of vitest, which has NODE_ENV=test. */
  #environment() {
    const { PATH, HOME, LANG } = process.env
    return {
      ...Object.fromEntries(Object.entries({ PATH, HOME, LANG }).filter(([, value]) => value !== undefined)),
      // The scripts of package.json set this too, but those of the previous version do not.
      ...(!this.#options.root && { NODE_COMPILE_CACHE: path.join(root, '.cache/compiled') }),
      ...testEnvironment,
      ...this.#databaseEnvironment(),
      ...this.#options.env,
      PARLEY_DATA_DIR: this.directory,
      PORT: String(this.#port),
    }
  }

  #databaseEnvironment(): Record<string, string> {
    const { database } = this.#options
    if (!database) return {}
    if (this.topology === 'solo') return { DATABASE_URL: database.url }
    const urls = Object.fromEntries(databaseRoles.map((role) => [role, database.urlOf(role)]))
    return {
      DATABASE_URL: database.url,
      TEST_DATABASE_URLS: JSON.stringify(urls),
      NODE_OPTIONS: `--import ${pathToFileURL(path.join(import.meta.dirname, 'sign-in-by-role.ts'))}`,
    }
  }
}
