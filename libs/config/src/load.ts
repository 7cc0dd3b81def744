import { derive } from './derive.ts'
import { type Environment, readEntryFiles, readEnvironment } from './environment.ts'
import { readConfigFile } from './file.ts'
import { readFlags } from './flags.ts'
import { judgeKeyFiles } from './key-files.ts'
import { configKeys } from './keys.ts'
import { ConfigError, type Fault, type Faults, isTree, type Layer, layerOfTree, overlay, treeOf } from './layers.ts'
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
  /** A launcher's own defaults: they win over the built-in ones and lose against everything that a person sets. */
  defaults?: DeepPartial<Config>
  /** Further checks of the caller. It gets only the valid values; its faults are reported with the others. */
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

  const sound = validate(derive(await readEntryFiles(overlay(builtIn, launcher, written), cwd, faults), cwd), faults)
  const config = treeOf(sound)
  applyRules(config as DeepPartial<Config>, written, faults)
  judgeKeyFiles(config as DeepPartial<Config>, faults)
  if (judge) faults.push(...judge(config as DeepPartial<Config>))
  if (faults.length > 0) throw new ConfigError(faults)

  return frozen(config) as unknown as Config
}

const builtIn: Layer = new Map(
  configKeys
    .filter(({ schema }) => schema.default !== undefined)
    .map(({ key, schema }) => [key, { value: schema.default }]),
)

/** A frozen copy, so that objects of a launcher or module are not changed. */
function frozen<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen)) as T
  if (!isTree(value)) return value
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, frozen(inner)]))) as T
}

/** A configuration that may be shown: secrets and passwords in URLs are `***`, functions are `[function]`. */
export function maskSecrets(value: unknown, name = ''): unknown {
  if (value === undefined || value === null) return value
  if (typeof value === 'function') return '[function]'
  if (/password$|secret$|secretAccessKey$/i.test(name)) return '***'
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, name))
  if (isTree(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskSecrets(item, key)]))
  return typeof value === 'string' ? maskUrl(value) : value
}

function maskUrl(text: string): string {
  if (/^postgres(ql)?:/i.test(text)) return maskDatabaseUrl(text)
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  const isInQuery = url.searchParams.has('password')
  if (url.password === '' && !isInQuery) return text
  if (url.password !== '') url.password = '***'
  if (isInQuery) url.searchParams.set('password', '***')
  return url.href
}

/** It may name several hosts, which `URL` cannot parse. */
const maskDatabaseUrl = (text: string) =>
  text.replace(/^(\w+:\/\/[^/?#:]*):[^/?#]*@/, '$1:***@').replace(/([?&]password=)[^&#]*/gi, '$1***')
