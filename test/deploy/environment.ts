import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Config, loadConfig } from '@parley/config'
import { imageEnvironment } from './dockerfile.ts'

/** Example secrets, with the file names of the set-up. */
const secrets: Record<string, string> = {
  'jwt-secret': 'a secret of at least 32 characters',
  'redis-url': 'redis://:secret@redis:6379',
  'database-url': 'postgres://parley:secret@postgres:5432/parley',
}

/**
 * The configuration that the code reads from the environment of a container and of the image, with these secrets
 * mounted. @throws ConfigError when the environment is not valid.
 */
export async function configurationFrom(
  environment: Record<string, string>,
  mounted: readonly string[],
): Promise<Config> {
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-environment-'))
  try {
    for (const file of mounted) await writeFile(path.join(directory, file), secrets[file] ?? '')
    const env = Object.fromEntries(
      Object.entries({ ...imageEnvironment(), ...environment }).map(([name, value]) => [
        name,
        value.replace(/^\/run\/secrets/, directory),
      ]),
    )
    return await loadConfig({ argv: [], env, cwd: directory })
  } finally {
    await rm(directory, { recursive: true })
  }
}
