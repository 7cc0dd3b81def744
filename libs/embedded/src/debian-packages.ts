import { execFile } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { childEnvironment } from '@parley/config'

const run = promisify(execFile)
const stepTimeoutMs = 180_000

/**
 * Unpacks Debian or Ubuntu packages into a directory. apt uses lists and state in that directory, so the system is not
 * changed and root is not needed. apt checks the signatures. For the packages in `librariesOf` the libraries that they
 * depend on are unpacked too.
 * @throws Error with apt's message.
 */
export async function fetchDebianPackages(
  root: string,
  names: readonly string[],
  { librariesOf = [] }: { librariesOf?: readonly string[] } = {},
): Promise<void> {
  const work = join(root, '.apt')
  const debs = join(work, 'debs')
  for (const path of ['state/lists/partial', 'cache/archives/partial', 'debs'])
    await mkdir(join(work, path), { recursive: true })

  // A source that is not needed may fail to update. The download then shows whether it matters.
  const complaints = await apt(work, ['update']).catch((error: Error) => error.message)
  try {
    await apt(work, ['download', ...names], debs)
    // Libraries depend on further libraries.
    for (let wanted = librariesOf; wanted.length > 0; ) {
      wanted = await missingLibraries(debs, wanted)
      if (wanted.length > 0) await apt(work, ['download', ...wanted], debs)
    }
  } catch (error) {
    throw new Error(`${complaints}${(error as Error).message}`, { cause: error })
  }
  for (const deb of await readdir(debs)) await run('dpkg', ['-x', join(debs, deb), root])
  await rm(work, { recursive: true, force: true })
}

/**
 * The environment variable with which an unpacked program finds the libraries that were unpacked with it
 * (lib/<architecture>, usr/lib/<architecture>).
 */
export async function unpackedLibraries(root: string): Promise<{ LD_LIBRARY_PATH: string }> {
  const libraries: string[] = []
  for (const lib of [join(root, 'usr/lib'), join(root, 'lib')]) {
    for (const entry of await readdir(lib).catch(() => []))
      if (entry.includes('-linux-')) libraries.push(join(lib, entry))
  }
  return { LD_LIBRARY_PATH: libraries.join(delimiter) }
}

/**
 * The libraries that the packages need and that were not downloaded yet. The C library is left out: it is always
 * installed, and two versions of it must not be mixed.
 */
async function missingLibraries(debs: string, packages: readonly string[]): Promise<string[]> {
  const files = await readdir(debs)
  const nameOf = (file: string) => file.split('_')[0]!
  const dependencies = await Promise.all(
    files
      .filter((file) => packages.includes(nameOf(file)))
      .map((file) => run('dpkg-deb', ['--field', join(debs, file), 'Depends']).then(({ stdout }) => stdout)),
  )
  const present = new Set(['libc6', ...files.map(nameOf)])
  const names = dependencies
    .join(',')
    .split(',')
    .map((dependency) => dependency.trim().split(/[\s|:(]/)[0]!)
  return [...new Set(names)].filter((name) => name.startsWith('lib') && !present.has(name))
}

/** Returns apt's warnings. @throws Error with apt's message. */
async function apt(work: string, args: string[], cwd = work): Promise<string> {
  const options = {
    'Dir::State': join(work, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status',
    'Dir::Cache': join(work, 'cache'),
    // As root, apt would download as a user who may not write here.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'Debug::NoLocking': '1',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  // The environment may name a proxy.
  const env = { ...childEnvironment({}), LC_ALL: 'C' }
  try {
    const limits = { timeout: stepTimeoutMs, maxBuffer: 16 * 1024 * 1024 }
    const { stderr } = await run('apt-get', [...flags, '-q', ...args], { cwd, env, ...limits })
    return stderr
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new Error(stderr || message)
  }
}
