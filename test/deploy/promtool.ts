import { execFile } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cachedEntry, fetchDebianPackages } from '@parley/embedded'

const run = promisify(execFile)

/** `promtool` of the PATH, or of Debian's package `prometheus`, fetched once into the cache; or why there is none. */
export async function findPromtool(): Promise<{ command: string } | { missing: string }> {
  if (await answers('promtool')) return { command: 'promtool' }
  if (!(await answers('apt-get')))
    return { missing: 'promtool is not on the PATH, and there is no apt-get to fetch it' }
  try {
    const root = await cachedEntry(`promtool-${process.arch}`, undefined, async (draft) => {
      const unpacked = path.join(draft, 'unpacked')
      await fetchDebianPackages(unpacked, ['prometheus'])
      await rename(path.join(unpacked, 'usr/bin/promtool'), path.join(draft, 'promtool'))
      await rm(unpacked, { recursive: true })
      await run(path.join(draft, 'promtool'), ['--version'])
    })
    return { command: path.join(root, 'promtool') }
  } catch (error) {
    return { missing: `promtool could not be fetched: ${(error as Error).message.trim().split('\n').at(-1)}` }
  }
}

const answers = (command: string) =>
  run(command, ['--version']).then(
    () => true,
    () => false,
  )
