import { expect, test } from 'vitest'
import { createLinkTokens } from './one-time-links.ts'

const [old, current] = ['an-old-secret-of-more-than-32-characters', 'the-current-secret-of-more-than-32-chars']
const email = 'ann@example.com'

test('a token has its purpose, its address and the key of its row', () => {
  const { issue, read } = createLinkTokens([current])
  const { token, tokenHash } = issue('reset', email)
  expect(read(token, email)).toEqual({ purpose: 'reset', email, tokenHash })
  expect(issue('reset', email).token).not.toBe(token)
})

test('a token outlives the rotation of the secret, until the old one is dropped', () => {
  const { token } = createLinkTokens([old]).issue('login', email)
  expect(createLinkTokens([current, old]).read(token, email)).toMatchObject({ purpose: 'login' })
  expect(createLinkTokens([current]).read(token, email)).toBeUndefined()
})

test.each([
  ['for another address', (token: string) => [token, 'bob@example.com']],
  ['of another purpose', (token: string) => [token.replace(/^login/, 'reset'), email]],
  ['without its signature', (token: string) => [token.replace(/\.[^.]+$/, '.'), email]],
  ['with another signature', (token: string) => [token.replace(/[^.]{42}(.)$/, `${'A'.repeat(42)}$1`), email]],
  ['with more behind it', (token: string) => [`${token}=`, email]],
  ['that is nonsense', () => ['nonsense', email]],
  ['that is nothing', () => ['', email]],
])('a token %s is none', (_, spoil) => {
  const { issue, read } = createLinkTokens([current])
  const [token, address] = spoil(issue('login', email).token)
  expect(read(token!, address!)).toBeUndefined()
})
