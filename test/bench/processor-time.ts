import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { descendantsOf } from '../src/processes.ts'
import type { Sample } from './statistics.ts'

/** Processor time in milliseconds, by the name of the process that used it. */
export type ProcessorTime = Record<string, number>

/** Linux reports processor time in hundredths of a second, whatever the frequency of its own clock. */
const tickMs = 10

/**
 * Adds to a sample the processor time that the named processes, with all their descendants, used during the
 * measurement. On systems other than Linux nothing is added.
 */
export const withProcessorTime = (roots: Record<string, number>, measure: () => Promise<Sample>) => async () => {
  const before = await readProcessorTime(roots)
  const sample = await measure()
  const after = await readProcessorTime(roots)
  const used = Object.keys(after).map((name) => {
    const us = ((after[name]! - (before[name] ?? 0)) * 1000) / sample.count
    return [name, Math.round(us * 10) / 10] as const
  })
  return { ...sample, processorUs: Object.fromEntries(used) }
}

/**
 * Processor time that each of these processes, with all its descendants, has used so far; the current process is
 * `client`.
 */
export async function readProcessorTime(roots: Record<string, number>): Promise<ProcessorTime> {
  if (process.platform !== 'linux') return {}
  const times = { client: ownCpuTime(), ...(await readCpuTime(roots)) }
  return Object.fromEntries(Object.entries(times).map(([name, { userMs, systemMs }]) => [name, userMs + systemMs]))
}

/** Milliseconds that the processors of this machine have been busy so far, with any process. */
export const machineTime = () =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)

/** Processor time in the process's own code and in the kernel for it. */
export interface CpuTime {
  userMs: number
  systemMs: number
}

/** Processor time that the current process has used so far. */
export function ownCpuTime(): CpuTime {
  const { user, system } = process.cpuUsage()
  return { userMs: user / 1000, systemMs: system / 1000 }
}

/**
 * Processor time that each of these processes, with all its descendants, has used so far. Zero on systems other than
 * Linux.
 */
export async function readCpuTime(roots: Record<string, number>): Promise<Record<string, CpuTime>> {
  const times: Record<string, CpuTime> = {}
  for (const [name, pid] of Object.entries(roots)) {
    const family = [pid, ...(await descendantsOf(pid)).map((each) => each.pid)]
    const used = await Promise.all(family.map(ofProcess))
    times[name] = {
      userMs: used.reduce((sum, { userMs }) => sum + userMs, 0),
      systemMs: used.reduce((sum, { systemMs }) => sum + systemMs, 0),
    }
  }
  return times
}

/** Milliseconds of each process of PostgreSQL that serves a client, by pid. The others do upkeep: vacuum, checkpoints, the log. */
export async function readBackendTime(postgres: number): Promise<Map<number, number>> {
  const backends = (await descendantsOf(postgres)).filter(({ command }) => /\d\(\d+\)/.test(command))
  const times = await Promise.all(backends.map(({ pid }) => ofProcess(pid)))
  return new Map(backends.map(({ pid }, index) => [pid, times[index]!.userMs + times[index]!.systemMs]))
}

/** The processes of a server: by service in a cluster (`gateway`, `gateway-2`), otherwise `the one process`. */
export async function serverProcesses(pid: number): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const { pid: child, command } of await descendantsOf(pid)) {
    const service = /services\/(\w+)\/src\/main\.ts/.exec(command)?.[1]
    if (service === undefined) continue
    const known = Object.keys(found).filter((name) => name.replace(/-\d+$/, '') === service).length
    found[known === 0 ? service : `${service}-${known + 1}`] = child
  }
  return Object.keys(found).length === 0 ? { 'the one process': pid } : found
}

async function ofProcess(pid: number): Promise<CpuTime> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  if (stat === '') return { userMs: 0, systemMs: 0 }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Time of the process itself and of its children that have ended, because those can no longer be asked.
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number)
  return { userMs: (user! + childrenUser!) * tickMs, systemMs: (system! + childrenSystem!) * tickMs }
}
