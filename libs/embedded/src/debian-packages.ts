import { execFile } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { childEnvironment } from '@parley/config'

const run = promisify(execFile)
const STEP_LIMIT_MS = 180_000

/**
 * Unpacks packages of Debian or Ubuntu into a directory, with package lists and state of its own: the system stays as it is,
 * and neither root nor earlier lists are needed. Of those named in `librariesOf` the libraries they depend on come too.
 * Signatures are checked by apt as ever. Throws with apt's words.
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

  // A source of the machine's list that has nothing to do with us may fail: what counts is whether the packages come.
  const complaints = await apt(work, ['update']).catch((error: Error) => error.message)
  try {
    await apt(work, ['download', ...names], debs)
    const libraries = await neededLibraries(debs, librariesOf)
    if (libraries.length > 0) await apt(work, ['download', ...libraries], debs)
  } catch (error) {
    throw new Error(`${complaints}${(error as Error).message}`, { cause: error })
  }
  for (const deb of await readdir(debs)) await run('dpkg', ['-x', join(debs, deb), root])
  await rm(work, { recursive: true, force: true })
}

/** The variable by which a program finds the libraries that were unpacked with it, below lib/<architecture> and usr/lib/<architecture>. */
export async function unpackedLibraries(root: string): Promise<{ LD_LIBRARY_PATH: string }> {
  const libraries: string[] = []
  for (const lib of [join(root, 'usr/lib'), join(root, 'lib')]) {
    for (const entry of await readdir(lib).catch(() => []))
      if (entry.includes('-linux-')) libraries.push(join(lib, entry))
  }
  return { LD_LIBRARY_PATH: libraries.join(delimiter) }
}

/** What the packages say they depend on; names differ between releases. The C library is always there and must not be mixed. */
async function neededLibraries(debs: string, packages: readonly string[]): Promise<string[]> {
  const files = (await readdir(debs)).filter((file) => packages.includes(file.split('_')[0]!))
  const dependencies = await Promise.all(
    files.map((file) => run('dpkg-deb', ['--field', join(debs, file), 'Depends']).then(({ stdout }) => stdout)),
  )
  return dependencies
    .join(',')
    .split(',')
    .map((dependency) => dependency.trim().split(/[\s|:(]/)[0]!)
    .filter((name) => name.startsWith('lib') && name !== 'libc6')
}

/** Answers what apt complained about though it went on; throws with what made it fail. */
async function apt(work: string, args: string[], cwd = work): Promise<string> {
  const options = {
    'Dir::State': join(work, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status',
    'Dir::Cache': join(work, 'cache'),
    // Root's apt would fetch as a user that may be unable to write here.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'Debug::NoLocking': '1',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  // Inherited, because a proxy may be set there.
  const env = { ...childEnvironment({}), LC_ALL: 'C' }
  try {
    const limits = { timeout: STEP_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 }
    const { stderr } = await run('apt-get', [...flags, '-q', ...args], { cwd, env, ...limits })
    return stderr
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new Error(stderr || message)
  }
}
