import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const run = promisify(execFile)
const service = join(import.meta.dirname, '..')
const root = join(service, '../..')
const stampName = '.built-from'
const stampFile = join(service, 'dist', stampName)

/** The folder of the built page. */
export const pageDirectory = join(service, 'dist')

/**
 * Builds the page with Vite, unless it was built from the same sources already, and compresses its files. It takes a few seconds. Two
 * processes may build at the same time, because each builds in a separate folder and moves it when it is complete.
 */
export async function buildPage(): Promise<'built' | 'unchanged'> {
  const stamp = await stampOfSources()
  const isBuilt = async () => (await readFile(stampFile, 'utf8').catch(() => '')) === stamp
  if (await isBuilt()) return 'unchanged'
  const outDir = await mkdtemp(join(service, 'dist.building-'))
  try {
    // Only the owner may read a folder of `mkdtemp`, but in the image the server runs as another user.
    await chmod(outDir, 0o755)
    // The page must not depend on the NODE_ENV of this process, which is `test` in a test run.
    await run(process.execPath, [join(import.meta.dirname, 'vite-build.ts'), outDir], {
      env: { NODE_ENV: 'production' },
    })
    await compressFiles(outDir)
    await writeFile(join(outDir, stampName), stamp)
    // Another process may have finished while this one was building.
    if (await isBuilt()) return 'unchanged'
    await rm(pageDirectory, { recursive: true, force: true })
    await rename(outDir, pageDirectory)
    return 'built'
  } finally {
    await rm(outDir, { recursive: true, force: true })
  }
}

/** A hash of all files from which the page is built. */
async function stampOfSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const file of await listSources()) hash.update(file).update(await readFile(file))
  return hash.digest('hex')
}

/** The files from which the page is built: its own sources, those of the libs that it imports, and the versions of all packages. */
export async function listSources(): Promise<string[]> {
  const manifest = join(service, 'package.json')
  const { devDependencies } = JSON.parse(await readFile(manifest, 'utf8')) as { devDependencies: object }
  // The packages of the page are the `devDependencies` of this service.
  const libs = Object.keys(devDependencies).filter((name) => name.startsWith('@parley/'))
  const patterns = [
    join(service, '{page,worker}/**/*'),
    join(service, 'src/{build,classic-script,emoji-list,font-faces,vite-build,vite-config}.ts'),
    ...libs.map((name) => join(root, name.replace('@parley/', 'libs/'), 'src/**/*')),
  ]
  const sources = globSync(patterns, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return [...sources.sort(), manifest, join(root, 'package-lock.json')]
}

const smallestBytes = 1024

async function compressFiles(directory: string) {
  const files = globSync('**/*.{js,css,html,json,svg,webmanifest}', { cwd: directory })
  await Promise.all(
    files.map(async (name) => {
      const file = join(directory, name)
      const bytes = await readFile(file)
      if (bytes.length < smallestBytes) return
      const brotli = {
        params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
      }
      await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, brotli))
      await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }))
    }),
  )
}
