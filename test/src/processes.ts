import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface RunningProcess {
  pid: number
  parent: number
  command: string
}

/** Everything that runs on this machine; zombies are left out. */
export async function listProcesses(): Promise<RunningProcess[]> {
  return process.platform === 'linux' ? fromProc() : fromPs()
}

/** All children of a process, and theirs. */
export async function descendantsOf(pid: number): Promise<RunningProcess[]> {
  const all = await listProcesses()
  const family: RunningProcess[] = []
  const parents = new Set([pid])
  for (let found = true; found; ) {
    const next = all.filter((each) => parents.has(each.parent) && !parents.has(each.pid))
    for (const each of next) parents.add(each.pid)
    family.push(...next)
    found = next.length > 0
  }
  return family
}

/** Sends a signal; that the process has ended meanwhile is no fault. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function fromProc(): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = await Promise.all(pids.map(readOne))
  return read.filter((found) => found !== undefined)
}

/** A process may end between the listing and the look. */
async function readOne(pid: string): Promise<RunningProcess | undefined> {
  const [command, stat] = await Promise.all(
    ['cmdline', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
  )
  // `stat` is "pid (name) state ppid …", and the name may hold anything.
  const [state, parent] = stat!.slice(stat!.lastIndexOf(')') + 2).split(' ')
  if (!parent || state === 'Z' || !command) return undefined
  return { pid: Number(pid), parent: Number(parent), command: command.replaceAll('\0', ' ').trimEnd() }
}

async function fromPs(): Promise<RunningProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axwwo', 'pid=,ppid=,stat=,command='], { maxBuffer: 2 ** 26 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (!pid || !command || state!.startsWith('Z')) return []
    return [{ pid: Number(pid), parent: Number(parent), command }]
  })
}
