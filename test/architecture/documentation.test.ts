import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const root = path.join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

const pages = globSync(['*.md', '{docs,libs,services,deploy,test}/**/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).filter((page) => page !== 'CHANGELOG.md' && !page.startsWith('docs/decisions/'))

/** The matches of an expression in all pages, as `page: match`, without those that exist. */
function missing(form: RegExp, exists: (name: string) => boolean): string[] {
  return pages.flatMap((page) =>
    [...read(page).matchAll(form)].filter(([, name]) => !exists(name!)).map(([, name]) => `${page}: ${name}`),
  )
}

/** The rows of the reference, which another test compares with the schema. Entries of lists have tables of their own. */
const [reference] = read('docs/configuration.md').split('\n## An entry of')
const rows = [...reference!.matchAll(/^\| `([\w.]+)` \| ([^|]*) \|/gm)]
const variables = new Set(rows.flatMap(([, , cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)))
const keys = new Set(
  rows.flatMap(([, key]) => key!.split('.').map((_, index, parts) => parts.slice(0, index + 1).join('.'))),
)
const sections = new Set([...keys].map((key) => key.split('.')[0]))

/** Names that look like keys: methods of Slack, actions of the audit log, columns, files, and objects of the code. */
const otherNames = new Set([
  'auth.mode',
  'auth.test',
  'chat.postEphemeral',
  'chat.postMessage',
  'database.as',
  'database.db',
  'environment.deps.db',
  'scim.client.create',
  'scim.client.delete',
  'server.settings.update',
  'uploads.filename',
  'webhooks.last_posted_at',
])

/** Variables that belong to examples, or to the configuration as a whole. */
const otherVariables = new Set(['PARLEY_CONFIG', 'PARLEY_SIGNING_SECRET', 'PARLEY_TOKEN', 'PARLEY_URL'])

describe('names in the documentation exist', () => {
  test('keys of the configuration', () => {
    const isKnown = (name: string) =>
      keys.has(name) || otherNames.has(name) || name.endsWith('.ts') || !sections.has(name.split('.')[0])
    expect(missing(/`([a-zA-Z]+(?:\.\w+)+)(?:\.\*)?`/g, isKnown)).toEqual([])
    expect(missing(/--([a-z]\w*(?:\.\w+)+)/g, (name) => keys.has(name))).toEqual([])
  })

  test('variables of the configuration', () => {
    const isKnown = (name: string) => variables.has(name.replace(/_FILE$/, '')) || otherVariables.has(name)
    expect(missing(/\b(PARLEY_[A-Z0-9_]+)/g, isKnown)).toEqual([])
  })

  test('npm scripts, commands of the command line, and programs that Node runs', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
    expect(missing(/npm run ([\w:-]+)/g, (name) => scripts.includes(name))).toEqual([])

    const commands = globSync('deploy/cli/commands/*.ts', { cwd: root }).flatMap((file) =>
      [...read(file).matchAll(/^ {2}name: '([\w-]+)'/gm)].map(([, name]) => name!),
    )
    expect(commands).toContain('migrate')
    expect(missing(/npx parley ([a-z][\w-]*)/g, (name) => commands.includes(name))).toEqual([])

    const isFile = (name: string) => globSync(name, { cwd: root }).length > 0
    expect(missing(/node ((?:test|deploy)\/[\w./-]+\.ts)/g, isFile)).toEqual([])
  })
})
