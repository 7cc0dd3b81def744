import { execFile } from 'node:child_process'
import { mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cachedEntry, fetchDebianPackages, unpackedLibraries } from '@parley/embedded'

const run = promisify(execFile)
const searched = [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(path.delimiter)

export interface Program {
  command: string
  /** The environment with the path of the libraries that were fetched with it. */
  env: Record<string, string>
  /** Its output about its version. */
  version: string
}

interface DebianProgram {
  name: string
  package: string
  /** The path of the program in the package. */
  path: string
  versionFlag?: string
  /** It needs no other files of its package and no libraries. The other files are not kept. */
  standsAlone?: boolean
}

/**
 * A program of this machine, or of Debian's package, which is fetched once into the cache and not installed; or the
 * reason why it is missing.
 */
export async function findDebianProgram(wanted: DebianProgram): Promise<Program | { missing: string }> {
  const { name, versionFlag = '--version' } = wanted
  const installed = await describe(name, { PATH: searched }, versionFlag)
  if (installed) return installed
  const apt = await run('apt-get', ['--version']).catch(() => undefined)
  if (!apt) return { missing: `${name} is not on the PATH, and there is no apt-get to fetch it` }
  const unpacked = async (root: string) => {
    const env = { PATH: searched, ...(await unpackedLibraries(root)) }
    const found = await describe(path.join(root, wanted.path), env, versionFlag)
    if (!found) throw new Error('the fetched program does not run here')
    return found
  }
  try {
    const root = await cachedEntry(`debian-${name}-${process.arch}`, undefined, async (draft) => {
      if (wanted.standsAlone) await fetchOnly(wanted, draft)
      else await fetchDebianPackages(draft, [wanted.package], { librariesOf: [wanted.package] })
      await unpacked(draft)
    })
    return await unpacked(root)
  } catch (error) {
    return { missing: `${name} could not be fetched: ${(error as Error).message.trim().split('\n').at(-1)}` }
  }
}

async function fetchOnly(wanted: DebianProgram, root: string) {
  const whole = path.join(root, 'whole')
  await fetchDebianPackages(whole, [wanted.package])
  await mkdir(path.dirname(path.join(root, wanted.path)), { recursive: true })
  await rename(path.join(whole, wanted.path), path.join(root, wanted.path))
  await rm(whole, { recursive: true })
}

async function describe(command: string, env: Record<string, string>, flag: string): Promise<Program | undefined> {
  const answer = await run(command, [flag], { env }).catch(() => undefined)
  return answer && { command, env, version: answer.stdout + answer.stderr }
}
