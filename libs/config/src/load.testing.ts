import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ConfigError, type Fault, type LoadOptions, loadConfig } from './index.ts'

/** The smallest environment with which a process starts. */
export const minimalEnvironment = {
  PARLEY_AUTH_JWT_SECRET: 'a-signing-secret-of-more-than-32-characters',
  DATABASE_URL: 'postgresql://parley:database-secret@localhost/parley',
  REDIS_URL: 'redis://:redis-secret@localhost',
}

/** Loads from `minimalEnvironment` and the given variables, independent of the machine on which the test runs. */
export const load = async (options: LoadOptions = {}) =>
  loadConfig({ argv: [], cwd: await folder(), ...options, env: { ...minimalEnvironment, ...options.env } })

/** The error that `load` throws. */
export async function loadError(options: LoadOptions): Promise<ConfigError> {
  const outcome = await load(options).catch((error: unknown) => error)
  if (outcome instanceof ConfigError) return outcome
  throw new Error('the configuration was accepted, or failed in another way', { cause: outcome })
}

export const faultsOf = async (options: LoadOptions): Promise<Fault[]> => (await loadError(options)).faults

/** A new folder with these files. It is removed after the test. */
export async function folder(files: Record<string, string> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'parley-config-'))
  onTestFinished(() => rm(path, { recursive: true }))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  return path
}
