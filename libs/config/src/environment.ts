import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { didYouMean, type Faults } from './faults.ts'
import { type ConfigKey, configKeys, fromText, keyNamed, toText } from './keys.ts'
import { isTree, type Layer, layerOfTree } from './layers.ts'
import type { Config, DeepPartial } from './schema.ts'

export type Environment = Record<string, string | undefined>

const configFileVariable = 'PARLEY_CONFIG'

/**
 * Reads the variables of every key, directly or from the file that a `…_FILE` variable names. Empty variables count as
 * absent.
 */
export async function readEnvironment(env: Environment, cwd: string, faults: Faults) {
  const layer: Layer = new Map()
  for (const key of configKeys) {
    const found = await firstOf(key, env, cwd, faults)
    if (found) layer.set(key.key, { value: fromText(key.schema, found.text), source: `variable ${found.name}` })
  }
  reportUnknown(env, faults)
  return { layer, configFile: env[configFileVariable] || undefined }
}

/** The `PARLEY_…` variables from which a child process loads these values. Functions cannot be passed on and are left out. */
export function configToEnvironment(partial: DeepPartial<Config>): Record<string, string> {
  const settings = [...layerOfTree(partial, 'configuration', [])]
  return Object.fromEntries(
    settings
      .filter(([, { value }]) => typeof value !== 'function')
      .map(([key, { value }]) => {
        const { schema, variables } = keyNamed.get(key)!
        return [variables[0]!, toText(schema, value)]
      }),
  )
}

/** A whole environment for a child process: this process's own (or `env`), overridden by the given values. */
export function childEnvironment(partial: DeepPartial<Config>, env: Environment = process.env): Record<string, string> {
  const inherited = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...Object.fromEntries(inherited), ...configToEnvironment(partial) }
}

/** A variable wins over its own `_FILE`, so that a value that a launcher passes to its children wins over an inherited one. */
async function firstOf({ key, variables }: ConfigKey, env: Environment, cwd: string, faults: Faults) {
  for (const name of variables) {
    if (env[name]) return { name, text: env[name] }

    const path = env[`${name}_FILE`]
    if (!path) continue
    const text = await readNamedFile({ key, name: `${name}_FILE`, path }, cwd, faults)
    return text === undefined ? undefined : { name: `${name}_FILE`, text }
  }
  return undefined
}

/**
 * Replaces `<name>_FILE` in the entries of lists, such as `clientSecret_FILE` of a provider, by the content of the
 * file. Every text of an entry has such a form.
 */
export async function readEntryFiles(layer: Layer, cwd: string, faults: Faults): Promise<Layer> {
  const read = new Map(layer)
  for (const { key, schema } of configKeys) {
    const setting = layer.get(key)
    const { properties } = schema.items ?? {}
    if (!properties || !Array.isArray(setting?.value)) continue
    const entries = setting.value.map(async (entry: unknown, index) => {
      if (!isTree(entry)) return entry
      const complete: Record<string, unknown> = {}
      for (const [written, value] of Object.entries(entry)) {
        const [, name] = /^(.+)_FILE$/.exec(written) ?? []
        const isFile = name !== undefined && properties[name]?.type === 'string' && typeof value === 'string'
        if (!isFile) complete[written] = value
        else
          complete[name] = await readNamedFile(
            { key: `${key}[${index}].${name}`, name: written, path: value },
            cwd,
            faults,
          )
      }
      return complete
    })
    read.set(key, { ...setting, value: await Promise.all(entries) })
  }
  return read
}

async function readNamedFile(
  { key, name, path }: { key: string; name: string; path: string },
  cwd: string,
  faults: Faults,
): Promise<string | undefined> {
  try {
    const text = (await readFile(resolve(cwd, path), 'utf8')).replace(/\r?\n$/, '')
    if (text !== '') return text
    faults.push({ key, message: `${name} names an empty file` })
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    faults.push({ key, message: `${name} names a file that cannot be read (${reason})` })
  }
  return undefined
}

function reportUnknown(env: Environment, faults: Faults) {
  const known = new Set([
    configFileVariable,
    ...configKeys.flatMap(({ variables }) => [variables[0]!, `${variables[0]}_FILE`]),
  ])
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('PARLEY_') || known.has(name) || !value || isServiceLink(name, value)) continue
    faults.push({ key: name, message: `is not a variable of the configuration.${didYouMean(name, known)}` })
  }
}

/** Kubernetes sets such variables in every pod for each Service, and also for a Service called `parley` or `parley-…`. */
const isServiceLink = (name: string, value: string) =>
  /_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(name) ||
  /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
  (/_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value))
