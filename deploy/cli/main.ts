import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, loadConfig, separateFlags, version } from '@parley/config'
import { ApiError } from '@parley/contract'
import { DatabaseUnreachable, isDatabaseUnavailable } from '@parley/database'
import { type Command, Refused, UsageError } from './command.ts'
import { createAdmin, resetPassword } from './commands/accounts.ts'
import { checkConfig } from './commands/check-config.ts'
import { exportAll } from './commands/export.ts'
import { migrateDatabase } from './commands/migrate.ts'

const commands: Command[] = [migrateDatabase, checkConfig, createAdmin, resetPassword, exportAll]

/** Finds the address of the PostgreSQL that `npm start` keeps in this folder. */
type FindKept = (directory: string) => Promise<string | undefined>

/**
 * Runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong command line. Without a configured database it uses the one
 * of `npm start`.
 */
export async function main(argv: string[], findKept: FindKept = async () => undefined): Promise<number> {
  const [name = '', ...rest] = argv
  if (/^(--help|-h|help)$/.test(name)) return print(usage(commands))
  if (/^(--version|-V|version)$/.test(name)) return print(`Parley ${version}\n`)
  const command = commands.find((each) => each.name === name)
  if (!command) return failUsage(name === '' ? 'a command is missing' : 'there is no such command', usage(commands))
  if (rest.some((argument) => argument === '--help' || argument === '-h')) return print(usageOf(command))
  try {
    await run(command, rest, findKept)
    return 0
  } catch (error) {
    if (error instanceof UsageError) return failUsage(error.message, usageOf(command))
    process.stderr.write(`${explain(error)}\n`)
    return 1
  }
}

async function run(command: Command, argv: string[], findKept: FindKept): Promise<void> {
  const { withValue = [], alone = [] } = Object.groupBy(command.options, ({ value }) => (value ? 'withValue' : 'alone'))
  const { own, config, unknown } = separateFlags(argv, {
    withValue: withValue.map(({ name }) => name),
    alone: alone.map(({ name }) => name),
  })
  if (unknown.length > 0) throw new UsageError(`${unknown[0]} is not an option of this command`)
  await command.run({
    options: parseOwn(command, own),
    configFlags: config,
    config: () => loadFor(config, findKept),
  })
}

function parseOwn({ options }: Command, args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: Object.fromEntries(
        options.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
      ),
    })
    return values as Record<string, string | boolean | undefined>
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0]!)
  }
}

/** The configuration of the services. The commands use only PostgreSQL, so the rest need not be configured. */
async function loadFor(argv: string[], findKept: FindKept) {
  const unused = ['auth.jwtSecret', 'redis']
  const absent = 'postgres://absent.invalid'
  const draft = await loadConfig({ argv, unused, defaults: { database: { url: absent } } })
  if (draft.database.url !== absent) return draft
  const url = await findKept(join(draft.dataDir, 'postgres'))
  return loadConfig({ argv, unused, ...(url && { defaults: { database: { url } } }) })
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function failUsage(message: string, help: string): number {
  process.stderr.write(`parley: ${message}\n\n${help}`)
  return 2
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof Refused || error instanceof ApiError) return `parley: ${error.message}`
  if (error instanceof DatabaseUnreachable) return `parley: ${error.message}`
  if (isDatabaseUnavailable(error)) return `parley: PostgreSQL does not answer: ${(error as Error).message}`
  if (isSystemError(error)) return `parley: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** A missing file, a full disk, or an error of PostgreSQL. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string'

const common = `
The configuration comes from the same flags, variables and file as that of the services (docs/configuration.md), such as
DATABASE_URL or --config. Without a configured database, the commands but check-config use the one of "npm start" in this folder.
Exit codes: 0 done, 1 failed, 2 wrong command line.
`

const usage = (commands: readonly Command[]): string => `Usage: parley <command> [options]

${columns(commands.map(({ name, summary }) => [name, summary]))}

parley <command> --help describes a command, parley --version prints the version.
${common}`

function usageOf({ name, summary, options, details }: Command): string {
  const rows = options.map(({ name, value, description }): [string, string] => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    description,
  ])
  return `Usage: parley ${name} [options]

${summary}.${details === '' ? '' : `\n\n${details}`}

${columns([...rows, ['--help', 'Shows this']])}
${common}`
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
