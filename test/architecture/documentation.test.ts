import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { table as routes } from '../authorisation/table.ts'

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

/** Names that look like keys: methods of Slack, actions of the audit log, columns, hosts, files, and objects of the code. */
const otherNames = new Set([
  'auth.mode',
  'auth.test',
  'chat.example.org',
  'chat.postEphemeral',
  'chat.postMessage',
  'chat.update',
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
const otherVariables = new Set(['PARLEY_CONFIG', 'PARLEY_SIGNING_SECRET', 'PARLEY_TAG', 'PARLEY_TOKEN', 'PARLEY_URL'])

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

  test('pages of the web client', () => {
    const texts = Object.keys(JSON.parse(read('services/web/page/texts/en.json')))
    const isPage = (menu: string) => menu.split(/\s+→\s+/).every((name) => texts.includes(name))
    expect(missing(/\*((?:Account|Administration)\s+→\s+[^*]+)\*/g, isPage)).toEqual([])
  })

  test('requests', () => {
    // A parameter has any name; a GET has a HEAD; metrics are on another port.
    const nameless = (route: string) => route.replace(/[:{<][\w ]+[}>]?/g, ':')
    const known = new Set(['GET /metrics', ...Object.keys(routes).map(nameless)])
    const isRoute = (request: string) => {
      const [, method, address] = /^(\w+)\s+(.+)$/.exec(request)!
      return known.has(nameless(`${method!.replace('HEAD', 'GET')} ${address!.replace(/[.,]$/, '')}`))
    }
    expect(missing(/\b((?:GET|HEAD|POST|PUT|DELETE)\s+\/[\w/:.<>-]*)/g, isRoute)).toEqual([])
  })
})

/** The texts of a union type, such as `| 'logout' | 'revoked'`. */
function textsOf(type: string, file: string): string[] {
  const [, union] = read(file).split(new RegExp(`^(?:export )?type ${type} =$`, 'm'))
  return [...union!.split(/\n\n/)[0]!.matchAll(/\| '([^']+)'/g)].map(([, text]) => text!)
}

describe('docs/administration.md explains', () => {
  const [log] = read('docs/administration.md').split('## Audit log')[1]!.split('\n### ')
  const unexplained = (texts: string[]) => texts.filter((text) => !log!.includes(`\`${text}\``))

  test('every action of the audit log', () => {
    const actions = textsOf('AuditAction', 'libs/database/src/record.ts')
    expect(actions).toContain('user.create')
    expect(unexplained(actions)).toEqual([])
  })

  test('every way to sign in, and every reason for the end of a session except its expiry, which has no entry', () => {
    const methods = textsOf('SignInMethod', 'libs/accounts/src/sessions.ts')
    const reasons = textsOf('SessionEnd', 'libs/accounts/src/session-endings.ts')
    expect([methods, reasons]).toEqual([expect.arrayContaining(['password']), expect.arrayContaining(['logout'])])
    expect(unexplained([...methods, ...reasons.filter((reason) => reason !== 'expired')])).toEqual([])
  })
})

test('the filter of the audit log suggests every action', () => {
  const [, suggested] = read('services/web/page/admin/audit-actions.ts').split('`')
  expect(suggested!.trim().split(/\s+/)).toEqual(textsOf('AuditAction', 'libs/database/src/record.ts'))
})

test('docs/install.md names the images that the installation uses', () => {
  const [, images] = /^ *for image in (.*); do$/m.exec(read('docs/install.md'))!
  const used = read('deploy/Dockerfile') + read('docker-compose.yml')
  expect(images).toContain('postgres:')
  expect(images!.split(' ').filter((image) => !used.includes(image))).toEqual([])
})

test('commands that start all services in Kubernetes again name all of them', () => {
  const services = globSync('services/*', { cwd: root }).map((folder) => path.basename(folder))
  const commands = pages.flatMap((page) => [...read(page).matchAll(/scale deployment ([a-z ]+) --replicas/g)])
  expect(commands).not.toEqual([])
  for (const [, names] of commands) expect(names!.split(' ').toSorted()).toEqual(services.toSorted())
})

test('every table has an owner: the README of one service, or docs/architecture.md when several services write it', () => {
  const [, interfaceBody] = read('libs/database/src/tables.ts').split('export interface Tables {')
  const tables = [...interfaceBody!.split('\n}')[0]!.matchAll(/^ {2}(\w+):/gm)].map(([, name]) =>
    name!.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  )
  expect(tables).toContain('idempotency_keys')

  const owned = globSync('services/*/README.md', { cwd: root }).flatMap((page) =>
    [...read(page).matchAll(/\*\*Owns\*\*(.*?)(?=\*\*[A-Z]\w+\*\*|\n\n)/gs)].map(([, names]) => names!),
  )
  const [shared] = read('docs/architecture.md').split('### Tables that several services write')[1]!.split('\n## ')
  const owners = [...owned, ...shared!.matchAll(/^\| (`.*?) \|/gm).map(([, names]) => names!)]
  const countOf = (table: string) => owners.filter((names) => names.includes(`\`${table}\``)).length
  expect(tables.map((table) => [table, countOf(table)])).toEqual(tables.map((table) => [table, 1]))
})

describe('links', () => {
  /** The anchors that GitHub gives the headings of a page. */
  const anchorsOf = (page: string) =>
    [...withoutCode(read(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\-_ ]/gu, '')
        .replaceAll(' ', '-'),
    )
  const all = [...pages, 'CHANGELOG.md', ...globSync('docs/decisions/*.md', { cwd: root })]

  test.each(all)('of %s lead to files and headings that exist', (page) => {
    const targets = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^(https?|mailto):/.test(target))
    const broken = targets.filter((target) => {
      const [file, anchor] = target.split('#') as [string, string?]
      const name = file === '' ? page : path.join(path.dirname(page), file)
      if (!existsSync(path.join(root, name))) return true
      return anchor !== undefined && name.endsWith('.md') && !anchorsOf(name).includes(anchor)
    })
    expect(broken).toEqual([])
  })
})

function withoutCode(text: string): string {
  return text.replace(/^ *```.*?^ *```/gms, '')
}
