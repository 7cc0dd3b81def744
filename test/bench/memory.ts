import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Resident memory of a process, in bytes. */
const residentBytes = (pid: number) => memoryBytes(pid, 'VmRSS')

/** Resident memory of a process without what it shares with others, such as the buffers of PostgreSQL, in bytes. */
export const ownBytes = (pid: number) => memoryBytes(pid, 'RssAnon')

/** On systems other than Linux this is always the resident memory. */
async function memoryBytes(pid: number, field: 'VmRSS' | 'RssAnon'): Promise<number> {
  if (process.platform === 'linux') {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout) * 1024
}

/**
 * The smallest resident memory during five seconds of garbage collections; the process must have `collect-garbage.ts`
 * preloaded.
 */
export async function settledBytes(pid: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 10; look++) {
    process.kill(pid, 'SIGUSR2')
    await delay(500)
    least = Math.min(least, await residentBytes(pid))
  }
  return least
}

/**
 * Bytes of the heap and of buffers that a process uses, without garbage. `file` is the file that its
 * `collect-garbage.ts` writes.
 */
export async function usedBytes(pid: number, file: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  // A collection can leave garbage that only the next one can free, so there are three.
  for (let look = 0; look < 3; look++) {
    await rm(file, { force: true })
    process.kill(pid, 'SIGUSR2')
    let text: string | undefined
    for (let wait = 0; text === undefined && wait < 100; wait++) {
      await delay(50)
      text = await readFile(file, 'utf8').catch(() => undefined)
    }
    const { heapUsed, external } = JSON.parse(text ?? '{}') as Record<'heapUsed' | 'external', number>
    least = Math.min(least, heapUsed + external)
  }
  return least
}
