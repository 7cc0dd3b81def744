import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ConfigError, type Fault, type LoadOptions, loadConfig } from './index.ts'

/** The least that a process needs to start. */
export const enough = {
  PARLEY_AUTH_JWT_SECRET: 'a-signing-secret-of-more-than-32-characters',
  DATABASE_URL: 'postgresql://parley:database-secret@localhost/parley',
  REDIS_URL: 'redis://:redis-secret@localhost',
}

/** Loads with `enough` beside the given variables, and with nothing of the machine the test runs on. */
export const load = async (options: LoadOptions = {}) =>
  loadConfig({ argv: [], cwd: await folder(), ...options, env: { ...enough, ...options.env } })

/** The error that `load` throws. */
export async function refusal(options: LoadOptions): Promise<ConfigError> {
  const outcome = await load(options).catch((error: unknown) => error)
  if (outcome instanceof ConfigError) return outcome
  throw new Error('the configuration was accepted, or failed in another way', { cause: outcome })
}

export const faultsOf = async (options: LoadOptions): Promise<Fault[]> => (await refusal(options)).faults

/** A fresh folder with these files, gone after the test. */
export async function folder(files: Record<string, string> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'parley-config-'))
  onTestFinished(() => rm(path, { recursive: true }))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  return path
}
