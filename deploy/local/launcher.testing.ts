import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { listProcesses, type RunningProcess, sendSignal } from '@parley/embedded'
import { onTestFinished } from 'vitest'

const repository = resolve(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))

export interface Running {
  pid: number
  /** The address at which it says it is ready. */
  address: string
  /** All output of it and its children so far. */
  output(): string
  /** Resolves when the output matches; rejects when the process ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: NodeJS.Signals): void
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** A new data directory. When root runs the tests, PostgreSQL's user may enter it. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-launcher-'))
  chmodSync(directory, 0o711)
  return directory
}

/** Runs one of our npm scripts in the same way as npm, on this data directory, with a clean environment. */
export function run(script: 'start' | 'cluster', directory: string, args: string[] = []): Omit<Running, 'address'> {
  const { PATH, HOME } = process.env
  const child = spawn('sh', ['-c', `${scripts[script]} "$@"`, script, ...args], {
    cwd: repository,
    env: { PATH: `${repository}/node_modules/.bin:${PATH}`, HOME, PARLEY_DATA_DIR: directory, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  return {
    pid: child.pid!,
    output: () => text,
    says: (pattern) => found(child, () => text, pattern),
    signal: (name) => void child.kill(name),
    exit,
  }
}

export async function startReady(...parameters: Parameters<typeof run>): Promise<Running> {
  const running = run(...parameters)
  const [, address] = await running.says(/ready at (http:\S+)/)
  return { ...running, address: address! }
}

function found(child: ChildProcess, text: () => string, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(text())
      if (match) settle(() => resolve(match))
    }
    const fail = () => settle(() => reject(new Error(`it ended without saying ${pattern}:\n${text()}`)))
    const settle = (then: () => void) => {
      child.stdout!.off('data', look)
      child.stderr!.off('data', look)
      child.off('close', fail)
      then()
    }
    child.stdout!.on('data', look)
    child.stderr!.on('data', look)
    child.on('close', fail)
    look()
  })
}

/** A process and all its descendants, whatever their process groups. */
export async function processTree(pid: number): Promise<RunningProcess[]> {
  const all = await listProcesses()
  const below = (parent: number): RunningProcess[] =>
    all.filter((process) => process.parent === parent).flatMap((child) => [child, ...below(child.pid)])
  return [...all.filter((process) => process.pid === pid), ...below(pid)]
}

/** The given processes that still run. A process that has got the pid of an ended one does not count. */
export async function stillRunning(before: readonly RunningProcess[]): Promise<RunningProcess[]> {
  const all = await listProcesses()
  return all.filter(({ pid, command }) => before.some((each) => each.pid === pid && each.command === command))
}

/** Kills the processes that a test left behind, and removes its directory. */
export function cleanUp(directory: string, started: () => RunningProcess[]): void {
  onTestFinished(async () => {
    for (const { pid } of await stillRunning(started())) sendSignal(pid, 'SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
}

/** Signs in as the initial admin. */
export async function signIn(address: string) {
  const { token } = (await call(address, 'POST', '/auth/dev-login', { body: { email: 'admin@example.com' } })) as {
    token: string
  }
  return {
    token,
    get: (path: string) => call(address, 'GET', path, { token }),
    post: (path: string, body: object) => call(address, 'POST', path, { body, token }),
  }
}

/** Repeats a request after a 503, with the same Idempotency-Key, as any client may. */
async function call(
  address: string,
  method: string,
  path: string,
  { body, token }: { body?: object; token?: string },
): Promise<unknown> {
  const request = {
    method,
    headers: {
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(address + path, request)
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    if (response.status !== 503 || attempt === 5) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    await delay(Number(response.headers.get('retry-after')) * 1000)
  }
}
