import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '@parley/embedded'
import type { TestDatabase } from '@parley/test'
import { findDebianProgram, type Program } from '../src/debian-program.ts'
import { root } from '../src/launch.ts'

interface PgbouncerBinary extends Program {
  /** Whether it supports named prepared statements: since 1.21. */
  keepsStatements: boolean
}

/** The PgBouncer of this machine or of Debian; or the reason why it is missing. */
export async function findPgbouncer(): Promise<PgbouncerBinary | { missing: string }> {
  const found = await findDebianProgram({ name: 'pgbouncer', package: 'pgbouncer', path: 'usr/sbin/pgbouncer' })
  if ('missing' in found) return found
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(found.version)!
  return { ...found, keepsStatements: Number(major) > 1 || Number(minor) >= 21 }
}

/** Connections to PostgreSQL for each role: fewer than a service's own pool has. */
export const poolSize = 3

/** PgBouncer in front of a database, configured according to `docs/database.md`. It can be killed and started again. */
export class Pgbouncer {
  readonly address: string
  #binary: PgbouncerBinary
  #directory: string
  #running: ChildProcess | undefined

  private constructor(binary: PgbouncerBinary, directory: string, port: number) {
    this.address = `127.0.0.1:${port}`
    this.#binary = binary
    this.#directory = directory
  }

  static async start(binary: PgbouncerBinary, { url, pool }: Pick<TestDatabase, 'url' | 'pool'>): Promise<Pgbouncer> {
    const directory = await mkdtemp(path.join(tmpdir(), 'parley-pgbouncer-'))
    // When root starts it, it runs as another user.
    await chmod(directory, 0o755)
    const [port, text] = await Promise.all([freePort(), readFile(path.join(root, 'docs/database.md'), 'utf8')])
    const [{ ini, userlist, statements }, { hostname, port: postgresPort, pathname }] = [readGuide(text), new URL(url)]
    await pool.query(statements)
    const name = pathname.slice(1)
    const own: Record<string, string> = {
      [name]: `host=${hostname} port=${postgresPort}`,
      listen_addr: '127.0.0.1',
      listen_port: String(port),
      default_pool_size: String(poolSize),
      auth_file: `${directory}/userlist.txt`,
    }
    const lines = ini
      .replace(/^parley = .*$/m, `${name} = `)
      .replace(/^; (max_prepared_statements = .*)$/m, binary.keepsStatements ? '$1' : '')
      .replace(/^(\w+) = .*$/gm, (line, key) => (key in own ? `${key} = ${own[key]}` : line))
    // The folder for its socket is often another one, and not needed.
    await writeFile(path.join(directory, 'pgbouncer.ini'), `${lines}unix_socket_dir =\n`)
    await writeFile(path.join(directory, 'userlist.txt'), `${userlist}\n`)
    const pgbouncer = new Pgbouncer(binary, directory, port)
    await pgbouncer.start()
    return pgbouncer
  }

  /** Resolves when it accepts connections. @throws with its output when it ends before. */
  async start(): Promise<void> {
    const { command, env } = this.#binary
    const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
    const child = spawn(command, [...asNobody, path.join(this.#directory, 'pgbouncer.ini')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#running = child
    let printed = ''
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.once('error', reject).once('exit', () => reject(new Error(`pgbouncer ended:\n${printed}`)))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      if (/process up/.test(printed)) resolve()
    })
    await promise
  }

  /** Kills it (`kill -9`). Resolves when it has ended. */
  async kill(): Promise<void> {
    const child = this.#running
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async stop(): Promise<void> {
    await this.kill()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** The examples of the documentation, which operators copy. */
function readGuide(text: string) {
  const guide = text.slice(text.indexOf('## A pooler in front'))
  const [, ini] = /```ini\n(.*?)```/s.exec(guide)!
  const [, userlist] = /has one line, `([^`]+)`/.exec(guide)!
  const [, statements] = /```sql\n(create role pgbouncer.*?)```/s.exec(guide)!
  return { ini: ini!, userlist: userlist!, statements: statements! }
}
