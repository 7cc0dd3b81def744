import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { isTestFile, root } from './sources.ts'

/** The layers of the code, lowest first. A lib imports only from lower layers. */
const layers = [
  'contract',
  'mail',
  'limiter',
  'markup',
  'images',
  'slack',
  'requester',
  'multiplex',
  'client',
  'config',
  'embedded',
  'telemetry',
  'redis',
  'database',
  'presence',
  'read-states',
  'search',
  'events',
  'jobs',
  'identity',
  'access',
  'messages',
  'membership',
  'blobs',
  'accounts',
  'groups',
  'service',
]

interface SourceFile {
  file: string
  /** The package of the file: `libs/events`, `services/auth`, `deploy/local` or `test`. */
  workspace: string
  isTest: boolean
  imports: string[]
  text: string
}

const importForms = [/^(?:import|export)\b[^'"]*?\bfrom '([^']+)'/gm, /^import '([^']+)'/gm, /\bimport\('([^']+)'\)/g]

const sources: SourceFile[] = globSync('{libs,services,deploy,test}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})
  .sort()
  .map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return {
      file,
      workspace: file.startsWith('test/') ? 'test' : file.split('/').slice(0, 2).join('/'),
      isTest: isTestFile(file) || file.startsWith('test/'),
      imports: importForms.flatMap((form) => [...text.matchAll(form)].map(([, specifier]) => specifier!)),
      text,
    }
  })
const product = sources.filter(({ isTest }) => !isTest)

/** The package folder that an import leads to, null for packages of others and for files of the own package. */
function destination({ file, workspace }: SourceFile, specifier: string): string | null {
  if (specifier.startsWith('.')) {
    const target = path.join(path.dirname(file), specifier)
    const targetWorkspace = target.startsWith('test/') ? 'test' : target.split('/').slice(0, 2).join('/')
    return targetWorkspace === workspace ? null : targetWorkspace
  }
  const [, name] = /^@parley\/([^/]+)/.exec(specifier) ?? []
  if (!name) return null
  if (name === 'test') return 'test'
  return layers.includes(name) ? `libs/${name}` : `services/${name}`
}

/** The web client and its build. All their dependencies are bundled at build time. */
const isBuiltPage = (file: string) =>
  /^services\/web\/(page\/|src\/(build|emoji-list|font-faces|vite-build|vite-config)\.ts)/.test(file)

/**
 * The folder of a feature, such as `services/auth/src/oauth` or `services/web/page/search`. Undefined for files outside
 * such folders.
 */
const folderOf = (file: string): string | undefined =>
  /^(?:services|libs)\/[^/]+\/(?:src|page)\/[^/]+(?=\/)/.exec(file)?.[0]

const manifestOf = (workspace: string) => JSON.parse(readFileSync(path.join(root, workspace, 'package.json'), 'utf8'))

const crossings = (files: SourceFile[]) =>
  files.flatMap((source) =>
    source.imports.flatMap((specifier) => {
      const to = destination(source, specifier)
      return to === null || to === source.workspace
        ? []
        : [{ file: source.file, from: source.workspace, to, specifier }]
    }),
  )

describe('architecture', () => {
  test('the sources were found', () => {
    expect(new Set(product.map(({ workspace }) => workspace)).size).toBeGreaterThan(15)
  })

  test('every lib has a floor, and imports go down', () => {
    const layer = (workspace: string) => layers.indexOf(workspace.replace('libs/', ''))
    expect(product.filter(({ workspace }) => workspace.startsWith('libs/') && layer(workspace) === -1)).toEqual([])
    const upwards = crossings(product).filter(
      ({ from, to }) => from.startsWith('libs/') && (!to.startsWith('libs/') || layer(to) >= layer(from)),
    )
    expect(upwards).toEqual([])
  })

  test('docs/architecture.md lists the libs in the order of their layers', () => {
    const text = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8')
    expect([...text.matchAll(/^\| `libs\/([\w-]+)` \|/gm)].map(([, name]) => name)).toEqual(layers)
  })

  test('services never import each other', () => {
    expect(
      crossings(product).filter(({ from, to }) => from.startsWith('services/') && !to.startsWith('libs/')),
    ).toEqual([])
  })

  test('no files import each other in a circle', () => {
    const targets = new Map(
      product.map(({ file, imports }) => [
        file,
        imports
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => path.join(path.dirname(file), specifier)),
      ]),
    )
    const left = new Map(targets)
    // A file is not part of a cycle when it imports no remaining file, or when no remaining file imports it.
    for (let before = -1; before !== left.size; ) {
      before = left.size
      const imported = new Set([...left.values()].flat())
      for (const [file, imports] of left) {
        if (!imported.has(file) || !imports.some((target) => left.has(target))) left.delete(file)
      }
    }
    expect(targets.size).toBeGreaterThan(600)
    expect([...left.keys()]).toEqual([])
  })

  test('no folders of a service or lib import each other in a circle', () => {
    const targets = new Map<string, Set<string>>()
    for (const { file, imports } of product) {
      const from = folderOf(file)
      for (const specifier of imports.filter((name) => name.startsWith('.'))) {
        const to = folderOf(path.join(path.dirname(file), specifier))
        if (!from || !to || from === to) continue
        targets.set(from, (targets.get(from) ?? new Set()).add(to))
      }
    }
    expect(targets.size).toBeGreaterThan(20)
    const reached = (from: string, seen = new Set<string>()): Set<string> => {
      for (const to of targets.get(from) ?? []) if (!seen.has(to)) reached(to, seen.add(to))
      return seen
    }
    expect([...targets.keys()].filter((folder) => reached(folder).has(folder))).toEqual([])
  })

  test('packages are entered through their exports, never by a path', () => {
    const byPath = product.flatMap((source) =>
      source.imports
        .filter((specifier) => specifier.startsWith('.') && destination(source, specifier) !== null)
        .map((specifier) => `${source.file}: ${specifier}`),
    )
    expect(byPath).toEqual([])
  })

  test('a file exports only what other files use', () => {
    // The index of a lib only passes names on. That of the client is for programs outside of this repository too.
    const isOnlyIndex = (file: string) => /^libs\/(?!client\/)[^/]+\/src\/index\.ts$/.test(file)
    const script = 'deploy/cli/parley.mjs'
    const users = [
      ...sources.filter(({ file }) => !isOnlyIndex(file)),
      { file: script, text: readFileSync(path.join(root, script), 'utf8') },
    ].flatMap(({ file, text }) => Array.from(new Set(text.match(/\w+/g)), (word) => ({ word, file })))
    const usersOf = Map.groupBy(users, ({ word }) => word)
    const declaration = /^export (?:async )?(?:const|function\*?|interface|type|class) (\w+)/gm
    const exported = sources.flatMap(({ file, text }) =>
      Array.from(text.matchAll(declaration), ([, name]) => ({ file, name: name! })),
    )
    expect(exported.length).toBeGreaterThan(2_000)
    const isUnused = ({ file, name }: { file: string; name: string }) =>
      !usersOf.get(name)?.some((user) => user.file !== file)
    expect(exported.filter(isUnused)).toEqual([])
  })

  test('the tests of test/ import no service, except the harness', () => {
    const harness = ['test/src/test-environment.ts', 'test/src/global-setup.ts']
    const outside = sources.filter(({ file }) => file.startsWith('test/') && !harness.includes(file))
    expect(crossings(outside).filter(({ to }) => to.startsWith('services/') || to.startsWith('deploy/'))).toEqual([])
  })

  test('the environment is read in libs/config alone', () => {
    const readers = product.filter(({ text, workspace }) => /process\.env\b/.test(text) && workspace !== 'libs/config')
    expect(readers.map(({ file }) => file)).toEqual([])
  })

  test('the imports of a package are in its package.json', () => {
    const missing = product.flatMap(({ file, workspace, imports }) => {
      if (workspace.startsWith('deploy/')) return []
      const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = manifestOf(workspace)
      const known = new Set([
        ...Object.keys({ ...dependencies, ...optionalDependencies, ...(isBuiltPage(file) && devDependencies) }),
        `@parley/${workspace.split('/')[1]}`,
      ])
      return imports
        .filter((specifier) => !/^(\.|node:|virtual:)/.test(specifier))
        .map((specifier) =>
          specifier
            .split('/')
            .slice(0, specifier.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((name) => !known.has(name))
        .map((name) => `${file}: ${name}`)
    })
    expect(missing).toEqual([])
  })

  test('a package uses all that is in its package.json', () => {
    // The image contains all services without importing them.
    const workspaces = [...new Set(sources.map(({ workspace }) => workspace))].filter(
      (workspace) => !workspace.startsWith('deploy/'),
    )
    const unused = workspaces.flatMap((workspace) => {
      const { dependencies = {}, devDependencies = {} } = manifestOf(workspace)
      const texts = sources.filter((source) => source.workspace === workspace).map(({ text }) => text)
      // Some packages are not imported, but read as files. Their names are in a string too.
      const isNamed = (name: string) => texts.some((text) => new RegExp(`['"\`]${name}['"\`/ ]`).test(text))
      return Object.keys({ ...dependencies, ...devDependencies })
        .filter((name) => !isNamed(name.replace('@types/', '')))
        .map((name) => `${workspace}: ${name}`)
    })
    expect(unused).toEqual([])
  })

  test('every metric is recorded somewhere', () => {
    const [, list] = /export const metric = \{([\s\S]*?)\n\}/.exec(
      readFileSync(path.join(root, 'libs/telemetry/src/names.ts'), 'utf8'),
    )!
    const names = [...list!.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(20)
    const isRecorded = (name: string) => product.some(({ text }) => text.includes(`metric.${name}`))
    expect(names.filter((name) => !isRecorded(name))).toEqual([])
  })

  test('no path occurs twice in the routing table of the gateway', () => {
    const table = readFileSync(path.join(root, 'services/gateway/src/routing-table.ts'), 'utf8')
    const paths = [...table.matchAll(/\bpath: '([^']+)'/g)].map(([, each]) => each!)
    expect(paths.length).toBeGreaterThan(40)
    expect(paths.filter((each, index) => paths.indexOf(each) !== index)).toEqual([])
  })

  test('no file is a drawer for everything', () => {
    const drawers = sources.filter(({ file }) => /\/(utils?|helpers?|common|types|misc|shared)(\.|\/)/.test(file))
    expect(drawers.map(({ file }) => file)).toEqual([])
  })
})
