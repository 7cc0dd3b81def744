import { type ConfigKey, configKeys, type Node, rootNode } from './keys.ts'
import { expectation } from './validation.ts'

/** The page `docs/configuration.md`, made from the schema. */
export function renderReference(): string {
  const sections = Object.entries(rootNode.properties!)
    .filter(([, node]) => node.properties)
    .map(([name]) =>
      section(
        name,
        configKeys.filter(({ key }) => key.startsWith(`${name}.`)),
      ),
    )
  const general = section(
    'General',
    configKeys.filter(({ key }) => !key.includes('.')),
  )
  return `${[introduction, general, ...sections, ...listEntries()].join('\n\n')}\n`
}

const introduction = `# Configuration

This page is for operators: every setting of Parley, and where it can be set. It is generated from the schema in \`libs/config\`, and a test
keeps the two equal.

A key can be set in four places. The first of these that has it wins, key by key:

1. a command-line flag: \`--auth.authMode=password\`; the initial password also as \`--initialUserPassword\`;
2. an environment variable: \`PARLEY_AUTH_AUTH_MODE=password\`. Where the table names a second variable, the \`PARLEY_\` one wins when
   both are set. Each has a form with \`_FILE\` that names a file to read the value from (a mounted secret); one newline at its end is
   dropped. A variable wins over its own \`_FILE\` form, and an empty one counts as absent;
3. the configuration file \`parley.config.json\`, \`.js\`, \`.mjs\` or \`.ts\` in the working directory, or the one named by \`--config\` or
   \`PARLEY_CONFIG\`. A module exports the tree by default; the mail templates are functions, so they need a module;
4. the default.

In flags and variables a list is separated by commas or written as JSON. \`auth.jwtSecret\` becomes a list only as JSON, since a secret may
contain a comma.

All faults are reported together at the start, by key and without the values, and the process ends. Unknown keys, flags and \`PARLEY_\`
variables are faults too. In Kubernetes, set \`enableServiceLinks: false\`. Otherwise the variables that Kubernetes sets for a Service named
\`parley-metrics\` are read as \`metrics.port\`.

Rules about several keys:

- \`auth.jwtSecret\` is always required. \`npm start\` generates one and stores it, but not in production.
- A process ignores settings that it does not use. They may be set or absent: \`database.*\` for gateways; \`auth.jwtSecret\` for workers;
  \`auth.jwtSecret\` and \`redis.*\` for the commands except \`check-config\`; all three for web.
- \`auth.authMode\` \`dev\` is refused in production and on an address that is not loopback, unless \`auth.allowPublicDevMode\` is set.
- \`auth.authMode\` \`magic-link\` needs \`email.host\`; \`password\` needs \`email.host\` or, until somebody has a password, \`chat.initialUser.password\`.
- Addresses of sign-in providers are https, except on a loopback host. Provider ids differ from each other, those of \`saml\` too.
- A text in an entry of a list can be read from a file: \`clientSecret_FILE\` or \`metadata_FILE\` names the file and stands in place of the key.
- Of \`redis.url\`, \`redis.sentinels\` (with \`redis.sentinelName\`) and \`redis.clusterNodes\` exactly one is set; see [Redis](redis.md).
- \`storage.store\` \`s3\` needs \`storage.s3.bucket\`; an access key and its secret come together.`

function section(title: string, keys: ConfigKey[]): string {
  const rows = keys.map(({ key, schema, variables, required, optionalBranch }) => {
    const names = variables.map(code).join(', ')
    const byDefault = defaultOf(schema, required && !optionalBranch)
    return row([
      code(key),
      schema.kind === 'function' ? '' : names,
      byDefault,
      `${schema.description} ${accepts(schema)}`,
    ])
  })
  return [`## ${title}`, '', row(['Key', 'Variables', 'Default', 'Meaning']), row(Array(4).fill('---')), ...rows].join(
    '\n',
  )
}

/** A section for each list whose entries have keys of their own. */
const listEntries = (): string[] =>
  configKeys.filter(({ schema }) => schema.items?.properties).map(({ key, schema }) => entrySection(key, schema.items!))

function entrySection(key: string, entry: Node): string {
  const heading = [`## An entry of ${key}`, '', row(['Key', 'Default', 'Meaning']), row(Array(3).fill('---'))]
  return [...heading, ...entryRows(entry, '')].join('\n')
}

const entryRows = ({ properties = {}, required = [] }: Node, path: string): string[] =>
  Object.entries(properties).flatMap(([name, schema]) => {
    if (schema.properties) return entryRows(schema, `${path}${name}.`)
    const byDefault = defaultOf(schema, required.includes(name))
    return [row([code(path + name), byDefault, `${schema.description} ${accepts(schema)}`])]
  })

function defaultOf(schema: Node, required: boolean): string {
  if (schema.derived) return code(schema.derived)
  if (schema.default !== undefined) return shown(schema.default)
  return required ? 'required' : ''
}

/** The accepted values in words. A plain text needs none. */
function accepts(schema: Node): string {
  const words = expectation(schema)
  return words === 'a text that is not empty' ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

const code = (text: string) => `\`${text}\``
const shown = (value: unknown) => code(Array.isArray(value) ? value.join(',') || '[]' : String(value))
const row = (cells: string[]) => `| ${cells.map((cell) => cell.trim()).join(' | ')} |`
