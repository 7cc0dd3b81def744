import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, loadConfig, separateFlags, version } from '@parley/config'
import { ApiError } from '@parley/contract'
import { DatabaseUnreachable, isDatabaseAway } from '@parley/database'
import { type Command, Refused, UsageError } from './command.ts'
import { checkConfig } from './commands/check-config.ts'
import { createAdmin } from './commands/create-admin.ts'
import { exportAll } from './commands/export.ts'
import { migrateDatabase } from './commands/migrate.ts'
import { resetPassword } from './commands/reset-password.ts'
import { usage, usageOf } from './usage.ts'

const commands: Command[] = [migrateDatabase, checkConfig, createAdmin, resetPassword, exportAll]

/** Where the PostgreSQL that `npm start` keeps in this folder answers, when there is one. */
type FindKept = (directory: string) => Promise<string | undefined>

/**
 * Runs the command line and answers the exit code: 0 done, 1 it could not be done, 2 the command line is wrong.
 * Without a configured database it is the kept one, where there is any.
 */
export async function main(argv: string[], findKept: FindKept = async () => undefined): Promise<number> {
  const [name = '', ...rest] = argv
  if (/^(--help|-h|help)$/.test(name)) return tell(usage(commands))
  if (/^(--version|-V|version)$/.test(name)) return tell(`Parley ${version}\n`)
  const command = commands.find((each) => each.name === name)
  if (!command) return complain(name === '' ? 'a command is missing' : 'there is no such command', usage(commands))
  if (rest.some((argument) => argument === '--help' || argument === '-h')) return tell(usageOf(command))
  try {
    await run(command, rest, findKept)
    return 0
  } catch (error) {
    if (error instanceof UsageError) return complain(error.message, usageOf(command))
    process.stderr.write(`${explain(error)}\n`)
    return 1
  }
}

async function run(command: Command, argv: string[], findKept: FindKept): Promise<void> {
  const named = (withValue: boolean) =>
    command.options.filter(({ value }) => (value !== undefined) === withValue).map(({ name }) => name)
  const { own, config, unknown } = separateFlags(argv, { withValue: named(true), alone: named(false) })
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

/**
 * The configuration of the services. The commands speak to PostgreSQL alone, by default to the one of `npm start`; what they do not
 * use need not be there.
 */
async function loadFor(argv: string[], findKept: FindKept) {
  const unused = {
    auth: { jwtSecret: 'no token is issued by the command line' },
    redis: { url: 'redis://unused.invalid' },
  }
  const absent = 'postgres://absent.invalid'
  const draft = await loadConfig({ argv, defaults: { ...unused, database: { url: absent } } })
  if (draft.database.url !== absent) return draft
  const url = await findKept(join(draft.dataDir, 'postgres'))
  return loadConfig({ argv, defaults: { ...unused, ...(url && { database: { url } }) } })
}

function tell(text: string): number {
  process.stdout.write(text)
  return 0
}

function complain(what: string, help: string): number {
  process.stderr.write(`parley: ${what}\n\n${help}`)
  return 2
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof Refused || error instanceof ApiError) return `parley: ${error.message}`
  if (error instanceof DatabaseUnreachable) return `parley: ${error.message}`
  if (isDatabaseAway(error)) return `parley: PostgreSQL does not answer: ${(error as Error).message}`
  if (isSystemError(error)) return `parley: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** A file that is not there, a disk that is full, PostgreSQL's own words. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string'
