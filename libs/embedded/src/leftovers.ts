import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/**
 * Ends processes that an earlier, killed launcher left behind: politely with the first signal, after `patienceMs` each with the next one.
 * They are found by their command line (the program and, as one whole argument, our path), so a pid that now is somebody else's is never hit.
 * Returns their pids; throws when one outlives every signal.
 */
export async function endLeftovers(
  program: string,
  path: string,
  signals: readonly NodeJS.Signals[],
  patienceMs: number,
): Promise<number[]> {
  const found = await findProcesses(program, path)
  let alive = found
  for (const signal of signals) {
    for (const pid of alive) sendSignal(pid, signal)
    const until = performance.now() + patienceMs
    while (alive.length > 0 && performance.now() < until) {
      await delay(20)
      alive = await findProcesses(program, path)
    }
    if (alive.length === 0) return found
  }
  throw new Error(`${program} (pid ${alive.join(', ')}) still runs on ${path} and does not end: end it by hand`)
}

/** Pids of the processes of that program with `path` among their arguments. Zombies have no command line any more and do not count. */
export async function findProcesses(program: string, path: string): Promise<number[]> {
  const all = process.platform === 'linux' ? await linuxProcesses() : await bsdProcesses()
  return all
    .filter(({ pid, command }) => pid !== process.pid && command.program === program && command.has(path))
    .map(({ pid }) => pid)
}

interface RunningProcess {
  pid: number
  command: { program: string; has: (argument: string) => boolean }
}

async function linuxProcesses(): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(
    pids.map(async (pid) => {
      // A process may end between the listing and the look.
      const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
      return { pid: Number(pid), command: { program: baseName(argv[0]!), has: (argument) => argv.includes(argument) } }
    }),
  )
}

/** `ps` joins the arguments with spaces: paths with spaces still match as a text between spaces. */
async function bsdProcesses(): Promise<RunningProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axwwo', 'pid=,command='], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, text] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    if (!pid || !text) return []
    const program =
      ['postgres', 'initdb', 'redis-server', 'valkey-server'].find((name) => text.includes(`/${name} `)) ?? ''
    return [{ pid: Number(pid), command: { program, has: (argument) => `${text} `.includes(` ${argument} `) } }]
  })
}

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1)

function sendSignal(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
