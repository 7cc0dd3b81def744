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
  /** @throws Refused for an error that the user can correct, UsageError for a wrong command line. */
  run(call: Call): Promise<void>
}

export interface Option {
  name: string
  /** The placeholder of its value in the help. Without one the option is a switch. */
  value?: string
  description: string
}

/** An error that the user can correct. It is shown without a stack trace, and the exit code is 1. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** A wrong command line. It is shown with the usage, and the exit code is 2. */
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

/** The actor in the audit log: the operator of the server, who is not one of its users. */
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
    // The next statement on the connection fails too, and that error is reported.
    onIdleError: () => {},
    ...(silenceMs !== undefined && { silenceMs }),
  })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
