import type { Config } from '@parley/config'
import { type Connection, connectDatabase } from '@parley/database'

/** The arguments of a command. */
export interface Call {
  /** Its own options, by name. */
  options: Record<string, string | boolean | undefined>
  /** @throws ConfigError */
  config(): Promise<Config>
  /** The configuration flags of the command line. */
  configFlags: string[]
}

export interface Command {
  name: string
  /** One line for the list of commands. */
  summary: string
  options: Option[]
  /** Shown by `--help`. */
  details: string
  /** @throws Refused for a fault that the user can correct, UsageError for a wrong command line. */
  run(call: Call): Promise<void>
}

export interface Option {
  name: string
  /** The placeholder of its value in the help. Without one the option is a switch. */
  value?: string
  description: string
}

/** A fault that the user can correct: shown without a stack trace, exit code 1. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** The command line is wrong: shown with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const say = (line: string) => void process.stdout.write(`${line}\n`)

/** The value of an option that must be given. */
export function required(options: Call['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

/** The actor in the audit log: the operator of the server, who is no user of it. */
export const operator = 'operator'

/** Connects to the database, runs `work` and closes the connection. `silenceMs`: see `ConnectionOptions`. */
export async function withDatabase<T>(
  { database }: Config,
  work: (connection: Connection) => Promise<T>,
  silenceMs?: number,
): Promise<T> {
  const connection = connectDatabase({
    url: database.url,
    ca: database.tls.ca,
    poolSize: 2,
    applicationName: 'parley-cli',
    pooler: database.pooler,
    preparedStatements: database.preparedStatements,
    // The statement that needs the connection fails as well.
    onIdleError: () => {},
    ...(silenceMs !== undefined && { silenceMs }),
  })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
