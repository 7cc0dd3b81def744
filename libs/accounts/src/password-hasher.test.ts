import { expect, test } from 'vitest'
import { createPasswordHasher, type Derivation } from './password-hasher.ts'

const derivation: Derivation = { purpose: 'sign-in', client: '192.0.2.1' }

test('a hash matches only its password; a missing hash costs a derivation too and matches none', async () => {
  const passwords = createPasswordHasher()
  const hash = await passwords.hash('correct horse', derivation)
  expect(await passwords.verify('correct horse', hash, derivation)).toBe(true)
  expect(await passwords.verify('correct horsE', hash, derivation)).toBe(false)
  expect(await passwords.verify('correct horse', null, derivation)).toBe(false)
  expect(await passwords.verify('correct horse', undefined, derivation)).toBe(false)
  expect(passwords.begun).toBe(5)
  expect(hash).toMatch(/^scrypt\$16384\$8\$5\$/)
})

test('the same characters are the same password, however they are composed', async () => {
  const passwords = createPasswordHasher()
  expect(await passwords.verify('Mu\u0308nchen!', await passwords.hash('M\u00fcnchen!', derivation), derivation)).toBe(
    true,
  )
})

test('limits running and waiting derivations, and tells further requests to try again later', async () => {
  const told: string[] = []
  const passwords = createPasswordHasher({ atOnce: 1, waiting: 2, onOutcome: (outcome) => told.push(outcome) })
  const order: number[] = []
  const all = [0, 1, 2, 3, 4].map((index) =>
    passwords.verify('a password', null, derivation).then(() => order.push(index)),
  )
  const outcomes = await Promise.allSettled(all)

  expect(order).toEqual([0, 1, 2])
  expect(told).toEqual(['failed', 'failed', 'completed', 'completed', 'completed'])
  expect(outcomes.slice(3)).toMatchObject(
    Array.from({ length: 2 }, () => ({ status: 'rejected', reason: { status: 503, retryAfter: expect.any(Number) } })),
  )
  expect(await passwords.verify('a password', null, derivation)).toBe(false)
  expect(passwords.begun).toBe(4)
})
