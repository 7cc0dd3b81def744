import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Config, loadConfig } from '@parley/config'
import { imageEnvironment } from './dockerfile.ts'
import { root } from './rendered.ts'

/** Example secrets, with the file names of the set-up. */
const secrets: Record<string, string> = {
  'jwt-secret': 'a secret of at least 32 characters',
  'redis-url': 'redis://:secret@redis:6379',
  'redis-password': 'secret',
  'database-url': 'postgres://parley:secret@postgres:5432/parley',
}

/**
 * The configuration that this process (a service or `migrate`) reads from the environment of its container and of the
 * image, with these secrets mounted. @throws ConfigError when the environment is not valid.
 */
export async function configurationFrom(
  name: string,
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
    return await loadConfig({ argv: [], env, cwd: directory, unused: unusedBy(name) })
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** The settings that a process ignores, from its code. */
function unusedBy(name: string): string[] {
  const file = name === 'migrate' ? 'deploy/cli/main.ts' : `services/${name}/src/main.ts`
  const [, list = ''] = /\bunused(?: =|:) \[([^\]]*)\]/.exec(readFileSync(path.join(root, file), 'utf8')) ?? []
  return [...list.matchAll(/'([^']+)'/g)].map(([, key]) => key!)
}
