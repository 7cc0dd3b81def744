import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from './load.ts'

const pem = (key: KeyObject, type: 'pkcs8' | 'spki') => key.export({ format: 'pem', type }).toString()

function folder(files: Record<string, string>): string {
  const cwd = mkdtempSync(join(tmpdir(), 'parley-keys-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content)
  return cwd
}
const defaults = {
  auth: { jwtSecret: 'a secret of at least 32 characters' },
  database: { url: 'postgres://localhost/parley' },
  redis: { url: 'redis://localhost' },
}

test('key files may be Ed25519 and P-256, and their paths are relative to the working directory', async () => {
  const [one, two] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ec', { namedCurve: 'P-256' })]
  const cwd = folder({
    'one.pem': pem(one.privateKey, 'pkcs8'),
    'two.pem': pem(two.privateKey, 'pkcs8'),
    'public.pem': pem(two.publicKey, 'spki'),
  })
  const env = { PARLEY_AUTH_JWT_KEYS: 'one.pem,two.pem', PARLEY_AUTH_JWT_PUBLIC_KEYS: 'public.pem' }
  const { auth } = await loadConfig({ argv: [], env, cwd, defaults })
  expect(auth.jwtKeys).toEqual([join(cwd, 'one.pem'), join(cwd, 'two.pem')])
  expect(auth.jwtPublicKeys).toEqual([join(cwd, 'public.pem')])
})

test('every unusable key file is a fault, and no key is shown', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pair = generateKeyPairSync('ed25519')
  const cwd = folder({
    'rsa.pem': pem(rsa.privateKey, 'pkcs8'),
    'text.pem': 'a secret text',
    'public.pem': pem(pair.publicKey, 'spki'),
    'private.pem': pem(pair.privateKey, 'pkcs8'),
  })
  const env = {
    PARLEY_AUTH_JWT_KEYS: 'rsa.pem,text.pem,public.pem,missing.pem',
    PARLEY_AUTH_JWT_PUBLIC_KEYS: 'private.pem',
  }
  const { message } = await loadConfig({ argv: [], env, cwd, defaults }).catch((error) => error)
  for (const name of ['rsa.pem', 'text.pem', 'public.pem']) expect(message).toContain(`${name} is not a PEM file`)
  expect(message).toContain('missing.pem cannot be read (ENOENT)')
  expect(message).toContain('private.pem has a private key')
  expect(message).not.toContain('a secret text')
})
