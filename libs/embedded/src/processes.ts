import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface RunningProcess {
  pid: number
  parent: number
  /** The command line as one text. */
  command: string
  /** The program and its arguments. Only Linux lists them separately. */
  argv?: string[]
}

/** Every process of this machine except zombies. */
export const listProcesses = (): Promise<RunningProcess[]> =>
  process.platform === 'linux' ? listFromProc() : listFromPs()

/**
 * Ends the processes that a killed launcher left behind. After each signal it waits for `timeoutMs` before it sends
 * the next one. The processes are found by their command line (see `findProcesses`), so another process with a reused
 * pid is never ended. Returns their pids.
 * @throws Error when one still runs after the last signal.
 */
export async function endLeftovers(
  program: string,
  path: string,
  signals: readonly NodeJS.Signals[],
  timeoutMs: number,
): Promise<number[]> {
  const found = await findProcesses(program, path)
  let alive = found
  for (const signal of signals) {
    for (const pid of alive) sendSignal(pid, signal)
    const until = performance.now() + timeoutMs
    while (alive.length > 0 && performance.now() < until) {
      await delay(20)
      alive = await findProcesses(program, path)
    }
    if (alive.length === 0) return found
  }
  throw new Error(`${program} (pid ${alive.join(', ')}) still runs on ${path} and does not end: end it by hand`)
}

/**
 * Pids of the other processes that run `program` (its file name) with `path` as an argument. The forks of such a process are left out: a
 * fork of PostgreSQL has the command line of its parent until it has set its own title.
 */
export async function findProcesses(program: string, path: string): Promise<number[]> {
  const all = await listProcesses()
  const found = all.filter((each) => each.pid !== process.pid && runs(each, program, path))
  const pids = new Set(found.map(({ pid }) => pid))
  return found.filter(({ parent }) => !pids.has(parent)).map(({ pid }) => pid)
}

function runs({ command, argv }: RunningProcess, program: string, path: string): boolean {
  if (argv) return basename(argv[0]!) === program && argv.includes(path)
  // `ps` joins the arguments by spaces, and paths may contain spaces.
  return command.includes(`/${program} `) && `${command} `.includes(` ${path} `)
}

/** Sends a signal. It is not an error if the process has ended already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Reads /proc, because slim containers have no `ps`. */
async function listFromProc(): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = await Promise.all(pids.map(readProcess))
  return read.filter((found) => found !== undefined)
}

/** Undefined for a zombie and for a process that has just ended. */
async function readProcess(pid: string): Promise<RunningProcess | undefined> {
  const [command, stat] = await Promise.all(
    ['cmdline', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
  )
  // `stat` is "pid (name) state ppid …", and the name may contain any character.
  const [state, parent] = stat!.slice(stat!.lastIndexOf(')') + 2).split(' ')
  if (!parent || state === 'Z' || !command) return undefined
  const argv = command.split('\0')
  return { pid: Number(pid), parent: Number(parent), command: argv.join(' ').trimEnd(), argv }
}

async function listFromPs(): Promise<RunningProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axwwo', 'pid=,ppid=,stat=,command='], { maxBuffer: 2 ** 26 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (!pid || !command || state!.startsWith('Z')) return []
    return [{ pid: Number(pid), parent: Number(parent), command }]
  })
}
