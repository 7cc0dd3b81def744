import { derive } from './derive.ts'
import { type Environment, readEntryFiles, readEnvironment } from './environment.ts'
import { ConfigError, type Fault, type Faults } from './faults.ts'
import { readConfigFile } from './file.ts'
import { readFlags } from './flags.ts'
import { checkKeyFiles } from './key-files.ts'
import { type ConfigKey, configKeys } from './keys.ts'
import { isTree, type Layer, layerOfTree, overlay, treeOf } from './layers.ts'
import { applyRules } from './rules.ts'
import type { Config, DeepPartial } from './schema.ts'
import { validate } from './validation.ts'

export interface LoadOptions {
  /** The arguments after the script; this process's own unless given. */
  argv?: readonly string[]
  /** This process's environment unless given. */
  env?: Environment
  /** Folder of the configuration file and base of relative paths; the working directory unless given. */
  cwd?: string
  /** A launcher's own defaults. They win over the built-in defaults, and everything that a person sets wins over them. */
  defaults?: DeepPartial<Config>
  /**
   * Keys and sections that this process does not use, such as `redis`. They may be absent or invalid. A required key gets a placeholder.
   */
  unused?: readonly string[]
  /** Further checks of the caller. They get only the valid values, and their faults are reported with the others. */
  check?: (config: DeepPartial<Config>) => Fault[]
}

/**
 * Loads the configuration, key by key: a flag wins over the environment, then come the file, `defaults` and the
 * built-in default.
 * @throws ConfigError with every fault of every source at once; its message holds no values.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<Config> {
  const { argv = process.argv.slice(2), env = process.env, cwd = process.cwd(), defaults = {}, check } = options
  const faults: Faults = []
  const unused = keysIn(options.unused ?? [])

  const flags = readFlags(argv, faults)
  const environment = await readEnvironment(withoutVariablesOf(unused, env), cwd, faults)
  const file = await readConfigFile(flags.configFile ?? environment.configFile, cwd, faults)
  const written = replaced(unused, overlay(file, environment.layer, flags.layer))
  const launcher = layerOfTree(defaults, 'defaults of the launcher', faults)

  const read = await readEntryFiles(overlay(builtIn, launcher, written), cwd, faults)
  const valid = validate(derive(read, cwd), faults)
  const config = treeOf(valid)
  applyRules(config as DeepPartial<Config>, written, faults)
  checkKeyFiles(config as DeepPartial<Config>, faults)
  if (check) faults.push(...check(config as DeepPartial<Config>))
  if (faults.length > 0) throw new ConfigError(faults)

  return frozen(config) as unknown as Config
}

/** Valid values for the required keys that a process does not use. */
const placeholders: Layer = new Map([
  ['auth.jwtSecret', { value: 'unused-by-this-process-which-knows-no-tokens' }],
  ['database.url', { value: 'postgres://unused.invalid/none' }],
  ['redis.url', { value: 'redis://unused.invalid' }],
])

const keysIn = (names: readonly string[]): ConfigKey[] =>
  configKeys.filter(({ key }) => names.some((name) => key === name || key.startsWith(`${name}.`)))

function withoutVariablesOf(keys: readonly ConfigKey[], env: Environment): Environment {
  const left = { ...env }
  for (const name of keys.flatMap(({ variables }) => variables)) {
    delete left[name]
    delete left[`${name}_FILE`]
  }
  return left
}

/** The layer with placeholders, or nothing, for these keys. */
function replaced(keys: readonly ConfigKey[], layer: Layer): Layer {
  const left = new Map(layer)
  for (const { key } of keys) {
    left.delete(key)
    if (placeholders.has(key)) left.set(key, placeholders.get(key)!)
  }
  return left
}

const builtIn: Layer = new Map(
  configKeys
    .filter(({ schema }) => schema.default !== undefined)
    .map(({ key, schema }) => [key, { value: schema.default }]),
)

/** A frozen copy. The objects of a launcher or a module stay unfrozen. */
function frozen<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen)) as T
  if (!isTree(value)) return value
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, frozen(inner)]))) as T
}
