import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** The parameters of scrypt: cost, block size, parallelization. */
export interface PasswordCost {
  N: number
  r: number
  p: number
}

/**
 * Hashes a password with scrypt, 16 bytes of random salt and a 64-byte key, off the event loop. The text is
 * `scrypt$<cost>$<block size>$<parallelization>$<salt>$<key>`, salt and key in base64url. It has the parameters, so
 * that the cost can be raised later.
 */
export async function hashPassword(password: string, cost = usualCost): Promise<string> {
  const salt = randomBytes(16)
  const key = await derive(password, salt, keyBytes, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/** Whether the hash is that of the password, compared in constant time. False for a hash of another form. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [, cost, blockSize, parallelization, salt, key] = form.exec(hash) ?? []
  if (!salt || !key) return false
  const expected = Buffer.from(key, 'base64url')
  const given = await derive(password, Buffer.from(salt, 'base64url'), expected.length, {
    N: Number(cost),
    r: Number(blockSize),
    p: Number(parallelization),
  })
  return timingSafeEqual(given, expected)
}

/**
 * Takes as long as `verifyPassword` with a hash of the same cost, and returns false. For accounts that do not exist or
 * have no password, so that the response time does not reveal this.
 */
export async function verifyNoPassword(password: string, cost = usualCost): Promise<false> {
  const key = await derive(password, noSalt, keyBytes, cost)
  timingSafeEqual(key, noKey)
  return false
}

const keyBytes = 64
const noSalt = Buffer.alloc(16)
const noKey = Buffer.alloc(keyBytes)
// From OWASP's password storage cheat sheet, with the least memory (16 MiB), because many people may sign in at the
// same time.
const usualCost: PasswordCost = { N: 2 ** 14, r: 8, p: 5 }
const form = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([\w-]{22,})\$([\w-]{22,})$/

const scryptAsync = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** NFC makes passwords equal that have the same characters, however a keyboard composes them (RFC 8265). */
const derive = (password: string, salt: Buffer, length: number, cost: ScryptOptions) =>
  scryptAsync(password.normalize('NFC'), salt, length, cost)
