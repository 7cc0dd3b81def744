import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Where the PostgreSQL of `startPostgres` in this folder answers while it runs; undefined when none was ever started there. */
export async function keptPostgresUrl(directory: string): Promise<string | undefined> {
  const [password, port] = await Promise.all(
    ['password', 'port'].map((name) => readFile(join(directory, name), 'utf8').catch(() => '')),
  )
  if (!password?.trim() || !port?.trim()) return undefined
  return `postgres://parley:${password.trim()}@127.0.0.1:${port.trim()}/parley`
}
