import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Faults } from './faults.ts'
import type { Config, DeepPartial } from './schema.ts'

/**
 * Reads a key of `auth.jwtKeys` (`private`) or `auth.jwtPublicKeys` (`public`): a PEM file with an Ed25519 or P-256 key.
 * @throws Error whose message says what is wrong, without the key.
 */
export function readKeyFile(path: string, kind: 'private' | 'public'): KeyObject {
  const pem = readPem(path)
  // node:crypto would derive the public key from a private key.
  if (kind === 'public' && /PRIVATE KEY/.test(pem))
    throw new Error(`${path} has a private key, but must have a public one`)
  const key = parse(pem, kind)
  const isSupported =
    key?.asymmetricKeyType === 'ed25519' ||
    (key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1')
  if (!key || !isSupported) throw new Error(`${path} is not a PEM file with an Ed25519 or P-256 ${kind} key`)
  return key
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`)
  }
}

function parse(pem: string, kind: 'private' | 'public'): KeyObject | undefined {
  try {
    return kind === 'private' ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return undefined
  }
}

/** Reports every key file that cannot be used. */
export function checkKeyFiles({ auth }: DeepPartial<Config>, faults: Faults): void {
  const check = (key: string, paths: readonly string[] = [], kind: 'private' | 'public') => {
    for (const path of paths) {
      try {
        readKeyFile(path, kind)
      } catch (error) {
        faults.push({ key, message: (error as Error).message })
      }
    }
  }
  check('auth.jwtKeys', auth?.jwtKeys, 'private')
  check('auth.jwtPublicKeys', auth?.jwtPublicKeys, 'public')
}
