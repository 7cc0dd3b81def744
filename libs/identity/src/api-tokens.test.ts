import { expect, test } from 'vitest'
import { createApiToken } from './api-tokens.ts'
import { createTokens } from './tokens.ts'

const ids = { tokenId: '0190a000-0000-7000-8000-000000000001', userId: '0190a000-0000-7000-8000-000000000002' }
const tokens = createTokens({ secrets: ['a-secret-of-more-than-32-characters'], issuer: 'parley', clock: Date.now })

test('an API token names its session and its user, and is never made twice', async () => {
  const { token, tokenHash } = createApiToken(ids)
  expect(await tokens.verifyAccess(token)).toEqual({
    sessionId: ids.tokenId,
    userId: ids.userId,
    expiresAt: Number.MAX_SAFE_INTEGER,
    tokenHash,
    isGenuine: false,
  })
  expect(createApiToken(ids).token).not.toBe(token)
})

test('it counts as genuine once its hash was compared, and no other text does', async () => {
  const [accepted, forged] = [createApiToken(ids).token, createApiToken(ids).token]
  tokens.noteGenuine(await tokens.verifyAccess(accepted))
  expect((await tokens.verifyAccess(accepted)).isGenuine).toBe(true)
  expect((await tokens.verifyAccess(forged)).isGenuine).toBe(false)
})

test.each([
  ['a letter less', (token: string) => token.slice(0, -1)],
  ['a letter more', (token: string) => `${token}A`],
  ['padding', (token: string) => `${token.slice(0, -1)}=`],
  ['another prefix', (token: string) => token.replace('pat', 'cat')],
])('is refused with %s', async (_, spoil) => {
  await expect(tokens.verifyAccess(spoil(createApiToken(ids).token))).rejects.toMatchObject({ status: 401 })
})
