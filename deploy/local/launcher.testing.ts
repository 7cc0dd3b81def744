import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

const repository = resolve(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))

export interface Running {
  pid: number
  /** Where it says it is ready. */
  address: string
  /** Everything it and its children said so far. */
  output(): string
  /** Resolves with what `pattern` finds in the output, now or later; rejects when the process ends first. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: NodeJS.Signals): void
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** A data directory of its own, which PostgreSQL's own user may pass when root runs the tests. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-launcher-'))
  chmodSync(directory, 0o711)
  return directory
}

/** Runs an npm script of ours as npm does, on a data directory, with an environment of its own. */
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

export interface ProcessLine {
  pid: number
  parent: number
  command: string
}

/** A process and all below it, whatever their groups. */
export function family(pid: number): ProcessLine[] {
  const all = processes()
  const below = (parent: number): ProcessLine[] =>
    all.filter((process) => process.parent === parent).flatMap((child) => [child, ...below(child.pid)])
  return [...all.filter((process) => process.pid === pid), ...below(pid)]
}

/** Those of the given processes that still run; a pid that somebody else has by now does not count. */
export const stillRunning = (before: ProcessLine[]) =>
  processes().filter(({ pid, command }) => before.some((each) => each.pid === pid && each.command === command))

function processes(): ProcessLine[] {
  return execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8', maxBuffer: 1 << 26 })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null && !match[3]!.startsWith('Z'))
    .map((match) => ({ pid: Number(match![1]), parent: Number(match![2]), command: match![4]! }))
}

/** Kills what a test left and removes the directory. */
export function cleanUp(directory: string, running: () => ProcessLine[]): void {
  onTestFinished(() => {
    for (const { pid } of stillRunning(running())) process.kill(pid, 'SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
}

/** A client at an address: signs in as the initial admin and keeps the token. */
export async function signIn(address: string) {
  const { token } = (await call(address, 'POST', '/auth/dev-login', { email: 'admin@example.com' })) as {
    token: string
  }
  return {
    token,
    get: (path: string) => call(address, 'GET', path, undefined, token),
    post: (path: string, body: object) => call(address, 'POST', path, body, token),
  }
}

/** A 503 is tried again, with the same Idempotency-Key, as any client may. */
async function call(address: string, method: string, path: string, body?: object, token?: string): Promise<unknown> {
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
    const reply = await fetch(address + path, request)
    const text = await reply.text()
    if (reply.ok) return JSON.parse(text)
    if (reply.status !== 503 || attempt === 5) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
    await delay(Number(reply.headers.get('retry-after')) * 1000)
  }
}
