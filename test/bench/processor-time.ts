import { readFile } from 'node:fs/promises'
import { descendantsOf } from '../src/processes.ts'
import type { Sample } from './statistics.ts'

/** Processor time by who used it, in milliseconds. */
export type ProcessorTime = Record<string, number>

/** Linux counts in hundredths of a second, whatever its own clock does. */
const tickMs = 10

/**
 * Adds to a sample what named processes and all their descendants used meanwhile: whose work a figure is made of. Not
 * where the system does not tell (anything but Linux).
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

/** What each of these processes, with all its descendants, has used so far, and this one as `client`. */
export async function readProcessorTime(roots: Record<string, number>): Promise<ProcessorTime> {
  if (process.platform !== 'linux') return {}
  const { user, system } = process.cpuUsage()
  const times: ProcessorTime = { client: (user + system) / 1000 }
  for (const [name, pid] of Object.entries(roots)) {
    const family = [pid, ...(await descendantsOf(pid)).map((each) => each.pid)]
    const used = await Promise.all(family.map(ofProcess))
    times[name] = used.reduce((sum, ms) => sum + ms, 0)
  }
  return times
}

async function ofProcess(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Of itself and of its children that have ended, which nobody could ask any more.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return stat === '' ? 0 : ticks * tickMs
}
