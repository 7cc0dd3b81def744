import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTokens } from './tokens.ts'

const secret = 'a-secret-of-more-than-32-characters!!'
const session = { userId: '0190a000-0000-7000-8000-000000000001', sessionId: '0190a000-0000-7000-8000-000000000002' }
const common = { secrets: [secret], issuer: 'parley', clock: Date.now }
const ed25519 = () => generateKeyPairSync('ed25519')
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signer = (...keys: { privateKey: KeyObject }[]) =>
  createTokens({ ...common, signingKeys: keys.map(({ privateKey }) => privateKey) })
const verifier = (...keys: { publicKey: KeyObject }[]) =>
  createTokens({ ...common, verifyingKeys: keys.map(({ publicKey }) => publicKey) })
const issue = (tokens: ReturnType<typeof createTokens>) => tokens.issueAccess({ ...session, seconds: 900 })
const refused = { status: 401 }

test.each([
  ['EdDSA', ed25519],
  ['ES256', p256],
])('%s: one service signs, and the others verify by the public key', async (algorithm, generate) => {
  const [pair, other] = [generate(), generate()]
  const token = await issue(signer(pair))
  expect(JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())).toMatchObject({ alg: algorithm })
  expect(await verifier(pair).verifyAccess(token)).toMatchObject(session)
  await expect(verifier(other).verifyAccess(token)).rejects.toMatchObject(refused)
  await expect(issue(verifier(pair))).rejects.toThrow('no key to sign')
})

test('two keys at a time: the first signs, both verify, in any mixture of algorithms', async () => {
  const [old, next] = [ed25519(), p256()]
  const [before, between, after] = [signer(old), signer(old, next), signer(next, old)]
  const [first, second, third] = [await issue(before), await issue(between), await issue(after)]
  for (const token of [first, second, third])
    expect(await verifier(next, old).verifyAccess(token)).toMatchObject(session)
  for (const token of [first, second]) expect(await verifier(old).verifyAccess(token)).toMatchObject(session)
  await expect(verifier(next).verifyAccess(second)).rejects.toMatchObject(refused)
  expect(await verifier(next).verifyAccess(third)).toMatchObject(session)
})

test('the secret signs nothing any more: neither access tokens nor refresh tokens', async () => {
  const pair = ed25519()
  const bySecret = createTokens(common)
  for (const tokens of [signer(pair), verifier(pair)]) {
    await expect(tokens.verifyAccess(await issue(bySecret))).rejects.toMatchObject(refused)
    const stolen = bySecret.issueRefresh(session.sessionId, 0)
    expect(() => tokens.readRefresh(stolen)).toThrow(expect.objectContaining(refused))
  }
  const own = signer(pair).issueRefresh(session.sessionId, 3)
  expect(signer(ed25519(), pair).readRefresh(own)).toEqual({ sessionId: session.sessionId, generation: 3 })
  expect(() => verifier(pair).readRefresh(own)).toThrow(expect.objectContaining(refused))
})

test('a token cannot choose its algorithm', async () => {
  const [pair, other] = [ed25519(), p256()]
  const tokens = verifier(pair, other)
  const [header, payload, signature] = (await issue(signer(pair))).split('.')
  const { kid } = JSON.parse(Buffer.from(header!, 'base64url').toString())
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const forge = (alg: string, key: string | Buffer) => {
    const signed = `${encode({ alg, typ: 'JWT', kid })}.${payload}`
    return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
  }
  const { publicKey } = pair
  const forgeries = [
    // The public key as the secret of an HMAC.
    forge('HS256', publicKey.export({ format: 'pem', type: 'spki' })),
    forge('HS256', publicKey.export({ format: 'der', type: 'spki' })),
    forge('EdDSA', publicKey.export({ format: 'pem', type: 'spki' })),
    forge('HS256', secret),
    `${encode({ alg: 'none', typ: 'JWT', kid })}.${payload}.`,
    `${encode({ alg: 'none', typ: 'JWT', kid })}.${payload}.${signature}`,
    `${encode({ alg: 'ES256', typ: 'JWT', kid })}.${payload}.${signature}`,
    `${encode({ alg: 'EdDSA', typ: 'JWT' })}.${payload}.${signature}`,
    `${header}.${payload}.${signature!.slice(0, 43)}`,
    `${header}.${payload}.${signature}=`,
  ]
  for (const forgery of forgeries) await expect(tokens.verifyAccess(forgery)).rejects.toMatchObject(refused)
})

test('tokens of a key pair are refused where only secrets are configured', async () => {
  await expect(createTokens(common).verifyAccess(await issue(signer(ed25519())))).rejects.toMatchObject(refused)
})
