import { describe, expect, test } from 'vitest'
import { createTokens } from './tokens.ts'

const old = 'an-old-secret-of-more-than-32-characters'
const current = 'the-current-secret-of-more-than-32-chars'
const session = { userId: '0190a000-0000-7000-8000-000000000001', sessionId: '0190a000-0000-7000-8000-000000000002' }

function at(start = 1_800_000_000_000) {
  const time = { now: start }
  const make = (...secrets: string[]) => createTokens({ secrets, issuer: 'parley', clock: () => time.now })
  return { time, make }
}

describe('access tokens', () => {
  test('have user, session and expiry', async () => {
    const { make, time } = at()
    const tokens = make(current)
    const claims = await tokens.verifyAccess(await tokens.issueAccess({ ...session, seconds: 900 }))
    expect(claims).toEqual({ ...session, expiresAt: time.now + 900_000, isGenuine: true })
  })

  test('expire, also when their signature is remembered', async () => {
    const { make, time } = at()
    const tokens = make(current)
    const token = await tokens.issueAccess({ ...session, seconds: 900 })
    await tokens.verifyAccess(token)
    time.now += 900_000
    await expect(tokens.verifyAccess(token)).rejects.toMatchObject({ status: 401 })
    await expect(make(current).verifyAccess(token)).rejects.toMatchObject({ status: 401 })
  })

  test('outlive the rotation of the secret, until the old one is dropped', async () => {
    const { make } = at()
    const token = await make(old).issueAccess({ ...session, seconds: 900 })
    await expect(make(current, old).verifyAccess(token)).resolves.toMatchObject(session)
    await expect(make(current).verifyAccess(token)).rejects.toMatchObject({ status: 401 })
  })

  test.each([
    ['nonsense', () => 'nonsense'],
    ['three empty parts', () => '..'],
    ['another algorithm', (token: string) => replaceHeader(token, { alg: 'none', typ: 'JWT' })],
    ['a changed payload', (token: string) => token.replace(/\.[^.]+\./, (part) => `.${flip(part.slice(1, -1))}.`)],
    ['a cut signature', (token: string) => token.slice(0, -2)],
    ['a second spelling: padding at the end', (token: string) => `${token}=`],
    ['a second spelling: another last character for the same bytes', respelled],
    ['a second spelling: padding after the header', (token: string) => token.replace('.', '=.')],
  ])('are refused: %s', async (_, spoil) => {
    const { make } = at()
    const token = await make(current).issueAccess({ ...session, seconds: 900 })
    await expect(make(current).verifyAccess(spoil(token))).rejects.toMatchObject({ status: 401 })
  })

  test('of another issuer are refused', async () => {
    const foreign = createTokens({ secrets: [current], issuer: 'elsewhere', clock: Date.now })
    const ours = createTokens({ secrets: [current], issuer: 'parley', clock: Date.now })
    await expect(ours.verifyAccess(await foreign.issueAccess({ ...session, seconds: 9 }))).rejects.toMatchObject({
      status: 401,
    })
  })
})

describe('refresh tokens', () => {
  const tokens = createTokens({ secrets: [current, old], issuer: 'parley', clock: Date.now })

  test('are the same for the same session and generation', () => {
    const token = tokens.issueRefresh(session.sessionId, 3)
    expect(tokens.issueRefresh(session.sessionId, 3)).toBe(token)
    expect(tokens.readRefresh(token)).toEqual({ sessionId: session.sessionId, generation: 3 })
  })

  test('signed with an earlier secret are read', () => {
    const earlier = createTokens({ secrets: [old], issuer: 'parley', clock: Date.now })
    expect(tokens.readRefresh(earlier.issueRefresh(session.sessionId, 0))).toMatchObject({ generation: 0 })
  })

  const good = tokens.issueRefresh(session.sessionId, 3)
  test.each([
    ['nothing', ''],
    ['nonsense', 'a.b.c'],
    ['another generation', good.replace('.3.', '.4.')],
    ['a second spelling: padding at the end', `${good}=`],
    ['a second spelling: another last character for the same bytes', respelled(good)],
    ['a second spelling: a zero before the generation', good.replace('.3.', '.03.')],
  ])('are refused: %s', (_, token) => {
    expect(() => tokens.readRefresh(token)).toThrow(expect.objectContaining({ status: 401 }))
  })
})

/** The last of 43 characters of base64url holds four bits, so three others are decoded to the same bytes. */
function respelled(token: string): string {
  const spelling = token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1)
  const signatureOf = (text: string) => Buffer.from(text.split('.')[2]!, 'base64url')
  expect(signatureOf(spelling)).toEqual(signatureOf(token))
  return spelling
}

const replaceHeader = (token: string, header: object) =>
  [Buffer.from(JSON.stringify(header)).toString('base64url'), ...token.split('.').slice(1)].join('.')
const flip = (payload: string) => {
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return Buffer.from(JSON.stringify({ ...claims, sub: 'somebody else' })).toString('base64url')
}
