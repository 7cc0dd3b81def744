import { execFile } from 'node:child_process'
import { fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { root, type Stores } from './stores.ts'

export interface Machine {
  /** ISO 8601, UTC. */
  date: string
  facts: Record<string, string>
}

/** What the figures depend on, as far as it can be found out. */
export async function describeMachine({ database: { pool }, directory }: Stores): Promise<Machine> {
  const { rows } = await pool.query<{ server_version: string }>('show server_version')
  const cpus = os.cpus()
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    facts: {
      machine: `${cpus.length} × ${cpus[0]?.model.trim()}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}`,
      disk: `${syncsPerSecond(directory).toLocaleString('en')} fdatasync/s of 8 KiB in ${path.dirname(directory)}`,
      load: `${os.loadavg()[0]!.toFixed(1)} (1-minute average at the start)`,
      versions: `Parley ${await commit()}, Node.js ${process.version}, PostgreSQL ${rows[0]?.server_version}`,
    },
  }
}

/** Sends wait for the disk, so figures of machines with different disks cannot be compared. */
function syncsPerSecond(directory: string) {
  const file = path.join(directory, 'fdatasync')
  const descriptor = openSync(file, 'w')
  const page = Buffer.alloc(8_192)
  const begun = performance.now()
  let count = 0
  for (; count < 2_000 && performance.now() - begun < 500; count++) {
    writeSync(descriptor, page)
    fdatasyncSync(descriptor)
  }
  const elapsed = performance.now() - begun
  rmSync(file)
  return Math.round((count * 1000) / elapsed)
}

async function commit() {
  const git = (...args: string[]) =>
    promisify(execFile)('git', args, { cwd: root }).then(
      ({ stdout }) => stdout.trim(),
      () => '',
    )
  const [head, changes] = await Promise.all([git('rev-parse', '--short', 'HEAD'), git('status', '--porcelain')])
  return head === '' ? 'of an unknown commit' : `${head}${changes === '' ? '' : ' with local changes'}`
}
