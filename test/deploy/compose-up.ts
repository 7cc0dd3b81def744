import { cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { type EmbeddedServer, freePort, loadOrPickPort, startPostgres, startRedis } from '@parley/embedded'
import { vi } from 'vitest'
import { composition, withoutProfile } from './composition.ts'
import type { Container, Engine, RunOptions } from './engine.ts'

/** The time limit of a start: eight processes start at once on a busy machine. */
const startMs = 180_000

/**
 * Simulates `docker compose up` with the built image: it runs every command of the file with its environment, when its
 * dependencies are healthy or completed. Host names become ports of loopback, and volumes become folders. PostgreSQL
 * and Redis are the embedded ones.
 */
export class ComposeUp {
  readonly running = new Map<string, Container>()
  /** The output of the set-up. */
  announcement = ''
  #engine: Engine
  #directory: string
  #ports = new Map<string, number>()
  #begun = new Map<string, Promise<void>>()
  #parts: EmbeddedServer[] = []

  constructor(engine: Engine, directory: string) {
    this.#engine = engine
    this.#directory = directory
  }

  async start(): Promise<void> {
    for (const name of withoutProfile) this.#ports.set(name, await freePort())
    for (const name of ['postgres', 'redis']) {
      mkdirSync(path.join(this.#directory, name), { mode: 0o700 })
      this.#ports.set(name, await loadOrPickPort(path.join(this.#directory, name)))
    }
    await Promise.all(withoutProfile.map((name) => this.#up(name)))
  }

  /** Stops PostgreSQL and Redis. The engine ends the containers. */
  async stop(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop()))
  }

  portOf = (name: string): number => this.#ports.get(name)!
  urlOf = (name: string): string => `http://127.0.0.1:${this.portOf(name)}`

  /** For each service, the folder that is mounted as `/run/secrets`. */
  get secrets(): string {
    return path.join(this.#directory, 'secrets')
  }

  /** The options with which the engine runs a service of the file. */
  optionsOf(name: string): RunOptions {
    const { entrypoint, command = [], environment = {}, volumes = [], user } = composition.services[name]!
    const [reader = 'none'] = volumes.flatMap((volume) => /^secrets-(\w+):\/run\/secrets\b/.exec(volume)?.[1] ?? [])
    const onLoopback = (text: string) =>
      text.replace(/^http:\/\/(\w+):3000$/, (url, other) => (this.#ports.has(other) ? this.urlOf(other) : url))
    return {
      entrypoint,
      command: name === 'setup' ? [...command, ...this.#addresses()] : command,
      environment: {
        ...Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, onLoopback(value)])),
        HOST: '127.0.0.1',
        PORT: String(this.#ports.get(name) ?? 0),
        PARLEY_METRICS_PORT: '0',
      },
      mounts: {
        '/run/secrets': path.join(this.secrets, reader),
        '/run/first-start': path.join(this.secrets, 'first-start'),
        '/secrets': this.secrets,
      },
      asOwner: user === '0:0',
    }
  }

  /** Brings up a service after those on which it depends, each of them once. */
  #up(name: string): Promise<void> {
    const others = Object.keys(composition.services[name]!.depends_on ?? {})
    const up =
      this.#begun.get(name) ?? Promise.all(others.map((other) => this.#up(other))).then(() => this.#bringUp(name))
    this.#begun.set(name, up)
    return up
  }

  async #bringUp(name: string): Promise<void> {
    if (name === 'postgres' || name === 'redis') return this.#startPart(name)
    if (name === 'setup' || name === 'migrate') {
      const { code, output } = await this.#engine.run(this.optionsOf(name))
      if (code !== 0) throw new Error(`${name} ended with ${code}:\n${output}`)
      if (name === 'setup') this.announcement = output
      return
    }
    const container = this.#engine.start(this.optionsOf(name))
    this.running.set(name, container)
    // This process asks first, because starting a process for every check would take longer than the wait.
    const isReady = async () => {
      const { status } = await fetch(`${this.urlOf(name)}/health/ready`)
      if (status !== 200) throw new Error(`${name} is not ready: ${status}\n${container.output}`)
    }
    await vi.waitFor(isReady, { timeout: startMs, interval: 200 })
    // Docker repeats the check too. On a busy machine a process may not answer within its time limit.
    const isHealthy = async () => {
      const code = await this.#engine.healthCheck(this.portOf(name))
      if (code !== 0) throw new Error(`${name} is ready, and its health check ends with ${code}`)
    }
    await vi.waitFor(isHealthy, { timeout: startMs, interval: 200 })
  }

  async #startPart(name: 'postgres' | 'redis') {
    const directory = path.join(this.#directory, name)
    // The embedded server uses the password in its folder.
    cpSync(path.join(this.secrets, name, 'password'), path.join(directory, 'password'))
    this.#parts.push(await (name === 'redis' ? startRedis : startPostgres)({ directory, durable: false }))
  }

  #addresses() {
    return ['postgres', 'redis'].flatMap((name) => [`--${name}`, `127.0.0.1:${this.portOf(name)}`])
  }
}
