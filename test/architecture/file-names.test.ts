import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const root = path.join(import.meta.dirname, '../..')

/** The kinds of files of CONTRIBUTING.md. */
const kinds = ['routes', 'queries', 'events', 'schema', 'test', 'testing', 'fixture', 'generated']

const sources = globSync('{libs,services,deploy,test}/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] }).sort()

describe('file names', () => {
  test('the second part of a name is a kind of CONTRIBUTING.md', () => {
    const others = sources.filter((file) => {
      const [, ...rest] = path.basename(file, '.ts').split('.')
      // Types of a package without types of its own.
      if (rest.join() === 'd') return false
      return rest.length > 1 || (rest.length === 1 && !kinds.includes(rest[0]!))
    })
    expect(others).toEqual([])
  })

  test('CONTRIBUTING.md lists the kinds', () => {
    const text = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8')
    const listed = [...text.matchAll(/^\| `<\w+>\.(\w+)\.ts`/gm)].map(([, kind]) => kind)
    expect(listed).toEqual(kinds)
  })

  test('names are in kebab-case', () => {
    const form = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*\.ts$/
    expect(sources.filter((file) => !form.test(path.basename(file)))).toEqual([])
  })
})

/** Paths of the repository in backticks, such as `libs/events/src/relay.ts`; those with a placeholder are left out. */
const pathForm = /`((?:libs|services|deploy|test|docs|k8s|\.ci)\/[\w./-]+)(?::\d+)?`/g

/**
 * The first column of a service's README has the files and folders below `src/`, or below `page/` for the web client.
 */
const cellForm = /^\| `([\w.-]+\/(?:[\w.-]+\.tsx?)?)`/gm

describe('paths in the documentation', () => {
  test.each(globSync('services/*/README.md', { cwd: root }))('of the first columns exist: %s', (page) => {
    const text = readFileSync(path.join(root, page), 'utf8')
    const folders = ['src', 'page', ''].map((folder) => path.join(root, path.dirname(page), folder))
    const missing = [...text.matchAll(cellForm)]
      .map(([, name]) => name!)
      .filter((name) => !folders.some((cwd) => globSync(name.replace(/\/$/, ''), { cwd }).length > 0))
    expect(missing).toEqual([])
  })

  const pages = globSync(['*.md', '{docs,libs,services,deploy,test}/**/*.md'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  }).filter((page) => page !== 'CHANGELOG.md' && !page.startsWith('docs/decisions/'))

  test.each(pages)('exist: %s', (page) => {
    const text = readFileSync(path.join(root, page), 'utf8')
    const named = [...text.matchAll(pathForm)].map(([, name]) => name!)
    expect(named.filter((name) => globSync(name.replace(/\/$/, ''), { cwd: root }).length === 0)).toEqual([])
  })
})
