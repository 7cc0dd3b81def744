import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadOrCreateSecret } from './index.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-secret-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('a secret is made once for each name, and only its owner can read it', async () => {
  const secrets = await Promise.all(Array.from({ length: 10 }, () => loadOrCreateSecret(directory, 'jwt')))
  expect(new Set(secrets).size).toBe(1)
  expect(Buffer.from(secrets[0]!, 'base64url')).toHaveLength(32)
  expect(await loadOrCreateSecret(directory, 'jwt')).toBe(secrets[0])
  expect(await loadOrCreateSecret(directory, 'other', 64)).not.toBe(secrets[0])
  expect((await stat(join(directory, 'jwt'))).mode & 0o777).toBe(0o600)
  expect((await readdir(directory)).sort()).toEqual(['jwt', 'other'])
})

test('an empty secret file is an error', async () => {
  await writeFile(join(directory, 'jwt'), '')
  await expect(loadOrCreateSecret(directory, 'jwt')).rejects.toThrow('is empty')
})
