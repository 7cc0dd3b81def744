import { derive } from './derive.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { ConfigError, type Fault } from './faults.ts'
import { readConfigFile } from './file.ts'
import { readFlags } from './flags.ts'
import { configKeys } from './keys.ts'
import { type Faults, isTree, type Layer, layerOfTree, overlay, treeOf } from './layers.ts'
import { applyRules } from './rules.ts'
import type { Config, DeepPartial } from './schema.ts'
import { validate } from './validation.ts'

export interface LoadOptions {
  /** Arguments after the script; by default this process's own. */
  argv?: readonly string[]
  /** By default this process's environment. */
  env?: Environment
  /** Folder of the configuration file and base of relative paths; by default the working directory. */
  cwd?: string
  /** A launcher's own defaults: stronger than the built-in ones, weaker than everything a person writes. */
  defaults?: DeepPartial<Config>
  /** What a caller refuses beyond the rules here; it gets the sound values only. Its faults are reported with the others. */
  judge?: (config: DeepPartial<Config>) => Fault[]
}

/**
 * Loads the configuration: flag over environment over file over `defaults` over built-in default, key by key.
 * @throws ConfigError with every fault of every source at once; its message holds no values.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<Config> {
  const { argv = process.argv.slice(2), env = process.env, cwd = process.cwd(), defaults = {}, judge } = options
  const faults: Faults = []

  const flags = readFlags(argv, faults)
  const environment = await readEnvironment(env, cwd, faults)
  const file = await readConfigFile(flags.configFile ?? environment.configFile, cwd, faults)
  const written = overlay(file, environment.layer, flags.layer)
  const launcher = layerOfTree(defaults, 'defaults of the launcher', faults)

  const sound = validate(derive(overlay(builtIn, launcher, written), cwd), faults)
  const config = treeOf(sound)
  applyRules(config as DeepPartial<Config>, written, faults)
  if (judge) faults.push(...judge(config as DeepPartial<Config>))
  if (faults.length > 0) throw new ConfigError(faults)

  return frozen(config) as unknown as Config
}

const builtIn: Layer = new Map(
  configKeys
    .filter(({ schema }) => schema.default !== undefined)
    .map(({ key, schema }) => [key, { value: schema.default }]),
)

/** A frozen copy, so that what a launcher or a module handed in stays its own. */
function frozen<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen)) as T
  if (!isTree(value)) return value
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, frozen(inner)]))) as T
}
