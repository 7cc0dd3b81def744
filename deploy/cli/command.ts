import type { Config } from '@parley/config'

/** What a command is given: its own options, by name, and how to get the configuration, which it may not need whole. */
export interface Call {
  options: Record<string, string | boolean | undefined>
  /** @throws ConfigError */
  config(): Promise<Config>
  /** The flags of the configuration on the command line. */
  configFlags: string[]
}

export interface Command {
  name: string
  /** One line. */
  summary: string
  /** The options of its own, each with what it means. */
  options: Option[]
  /** More for `--help`. */
  details: string
  /** Does it. @throws Refused for what a person can put right, UsageError for a wrong command line. */
  run(call: Call): Promise<void>
}

export interface Option {
  name: string
  /** What stands for its value; without one it is a switch. */
  value?: string
  description: string
}

/** Something that whoever runs the command can put right: shown without a stack, exit code 1. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** The command line is wrong: shown with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const say = (line: string) => void process.stdout.write(`${line}\n`)

/** A text option that must be there. */
export function required(options: Call['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

/** Who did it, in the audit log: whoever holds the server itself, and no person on it. */
export const operator = 'operator'
