import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { childEnvironment } from '@parley/config'
import { fetchDebianPackages, unpackedLibraries } from './debian-packages.ts'
import { cachedEntry, exists } from './program-cache.ts'

/** The names of the program of Redis and of Valkey. */
export const redisPrograms = ['redis-server', 'valkey-server'] as const

export interface RedisBinary {
  command: string
  env: Record<string, string>
}

/** The oldest version with XAUTOCLAIM and all commands that the scripts of the job queue use. */
const oldestVersion = [6, 2] as const
const homebrewFolders = ['/opt/homebrew/bin', '/usr/local/bin']

/**
 * Finds a Redis or Valkey server on the PATH or in Homebrew. Otherwise, on Debian and Ubuntu, apt downloads it once
 * into the cache, without root.
 * @throws Error with the command that installs one.
 */
export async function findRedis(cacheDirectory: string | undefined, log: (line: string) => void): Promise<RedisBinary> {
  const path = (childEnvironment({}).PATH ?? '').split(delimiter).filter(Boolean)
  for (const directory of [...path, ...(process.platform === 'darwin' ? homebrewFolders : [])]) {
    for (const program of redisPrograms) {
      const found = { command: join(directory, program), env: {} }
      if ((await isExecutable(found.command)) && (await serves(found))) return found
    }
  }
  if (!(await isExecutable('/usr/bin/apt-get'))) throw new Error(advice())
  try {
    return await fetchedRedis(cacheDirectory, log)
  } catch (error) {
    throw new Error(`${advice()}\nFetching it from this system's package archive failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function fetchedRedis(cacheDirectory: string | undefined, log: (line: string) => void): Promise<RedisBinary> {
  const root = await cachedEntry(`redis-${await systemName()}-${process.arch}`, cacheDirectory, async (draft) => {
    log('Fetching Redis from the package archive of this system (once)')
    // The program of the server is in redis-tools.
    await fetchDebianPackages(draft, ['redis-server', 'redis-tools'], { librariesOf: ['redis-tools'] })
    if (!(await serves(await unpackedRedis(draft)))) throw new Error('the downloaded program does not run here')
  })
  return unpackedRedis(root)
}

async function unpackedRedis(root: string): Promise<RedisBinary> {
  const [redis, valkey] = redisPrograms
  const directory = join(root, 'usr/bin')
  const program = (await exists(join(directory, redis))) ? redis : valkey
  return { command: join(directory, program), env: await unpackedLibraries(root) }
}

async function serves({ command, env }: RedisBinary): Promise<boolean> {
  const { stdout } = await promisify(execFile)(command, ['--version'], { env }).catch(() => ({ stdout: '' }))
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout) ?? []
  return Number(major) > oldestVersion[0] || (Number(major) === oldestVersion[0] && Number(minor) >= oldestVersion[1])
}

/**
 * The name and version of the system. Systems may share a cache (a checkout mounted into a container), and each needs
 * its own packages.
 */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const value = (key: string) => new RegExp(`^${key}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown'
  return `${value('ID')}-${value('VERSION_ID')}`
}

const isExecutable = (path: string) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

function advice(): string {
  const command = process.platform === 'darwin' ? 'brew install redis' : 'sudo apt-get install redis-server'
  return `No Redis ${oldestVersion.join('.')} or newer found on the PATH. Install one (${command}; elsewhere the package redis or valkey), or give REDIS_URL.`
}
