import { scryptSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a hash knows its password and no other', async () => {
  const hash = await hashPassword('correct horse')
  expect(await verifyPassword('correct horse', hash)).toBe(true)
  expect(await verifyPassword('correct horsE', hash)).toBe(false)
})

test('the same password has another hash each time: 16 bytes of salt, 64 of key', async () => {
  const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
  expect(one).not.toBe(two)
  const [salt, key] = one.split('$').slice(-2)
  expect([Buffer.from(salt!, 'base64url').length, Buffer.from(key!, 'base64url').length]).toEqual([16, 64])
})

test('a hash made at another cost is still good', async () => {
  const salt = Buffer.alloc(16, 1)
  const key = scryptSync('correct horse', salt, 64, { N: 2, r: 1, p: 1 })
  const hash = `scrypt$2$1$1$${salt.toString('base64url')}$${key.toString('base64url')}`
  expect(await verifyPassword('correct horse', hash)).toBe(true)
  expect(await verifyPassword('incorrect horse', hash)).toBe(false)
})

test.each(['', 'password', 'scrypt$$$$$', 'bcrypt$16384$8$5$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA'])(
  '%j belongs to no password',
  async (hash) => expect(await verifyPassword('', hash)).toBe(false),
)
