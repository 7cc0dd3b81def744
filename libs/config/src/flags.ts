import { didYouMean, type Faults } from './faults.ts'
import { type ConfigKey, configKeys, fromText } from './keys.ts'
import type { Layer } from './layers.ts'

export interface Flags {
  layer: Layer
  /** The path after `--config`. */
  configFile?: string
}

const flagForm = /^--([^=]+)(?:=([\s\S]*))?$/
const keyOfFlag = new Map(configKeys.flatMap((key) => key.flags.map((flag) => [flag, key] as const)))

/** Reads `--key=value`, `--key value` and, for a boolean, `--key` alone. The last of several wins. */
export function readFlags(argv: readonly string[], faults: Faults): Flags {
  const flags: Flags = { layer: new Map() }
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!
    const [, name, inline] = flagForm.exec(argument) ?? []
    if (name === undefined) {
      if (argument !== '--') faults.push({ key: 'command line', message: `argument ${index + 1} is not a flag` })
      continue
    }

    const key = keyOfFlag.get(name)
    const next = argv[index + 1]
    // The word after an unknown flag is skipped too: it is probably its value, which may be a secret and must not be printed.
    const takesNext = isValueOf(key, next)
    const value = inline ?? (takesNext ? argv[++index] : isSwitch(key) ? 'true' : undefined)

    if (name !== 'config' && !key) {
      const known = didYouMean(name, ['config', ...keyOfFlag.keys()]).replace('mean ', 'mean --')
      faults.push({ key: `--${name}`, message: `is not a flag.${known}` })
    } else if (value === undefined || value === '') {
      faults.push({ key: key?.key ?? 'config', message: `needs a value (flag --${name})` })
    } else if (key) {
      flags.layer.set(key.key, { value: fromText(key.schema, value), source: `flag --${name}` })
    } else {
      flags.configFile = value
    }
  }
  return flags
}

const isSwitch = (key: ConfigKey | undefined) => key?.schema.type === 'boolean'

/** Whether the word after a flag without `=` is the value of the flag. */
const isValueOf = (key: ConfigKey | undefined, next: string | undefined): boolean =>
  next !== undefined && (isSwitch(key) ? /^(true|false)$/.test(next) : !next.startsWith('--'))

/**
 * Splits a command line into a command's `own` flags, the flags for `loadConfig`, and `unknown` ones, which are named
 * without their values. The caller parses its own flags: they are returned as `--name` or `--name=value`. Flags in
 * `own.withValue` may also be written `--name value`.
 */
export function separateFlags(
  argv: readonly string[],
  own: { withValue: readonly string[]; alone: readonly string[] },
): { own: string[]; config: string[]; unknown: string[] } {
  const separated = { own: [] as string[], config: [] as string[], unknown: [] as string[] }
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!
    const [, name = '', inline] = flagForm.exec(argument) ?? []
    const key = keyOfFlag.get(name)
    const next = argv[index + 1]
    const takesNext =
      inline === undefined && next !== undefined && (own.withValue.includes(name) || isValueOf(key, next))
    if (own.alone.includes(name)) separated.own.push(argument)
    else if (own.withValue.includes(name))
      separated.own.push(...(takesNext ? [`${argument}=${argv[++index]}`] : [argument]))
    else if (key || name === 'config') separated.config.push(...(takesNext ? [argument, argv[++index]!] : [argument]))
    else separated.unknown.push(name === '' ? 'an argument that is not a flag' : `--${name}`)
  }
  return separated
}

/**
 * Removes a launcher's own flag (`--replicas 3` or `--replicas=3`) from a command line, so that the rest can be given
 * to `loadConfig`. The command line is this process's own unless given. `value` is undefined when the flag is missing.
 */
export function takeFlag(name: string, argv: readonly string[] = process.argv.slice(2)) {
  const rest: string[] = []
  let value: string | undefined
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!
    if (argument.startsWith(`--${name}=`)) value = argument.slice(name.length + 3)
    else if (argument === `--${name}`) value = argv[++index] ?? ''
    else rest.push(argument)
  }
  return { value, rest }
}
