import { appUrl, type Browser } from '@parley/test/browser'
import { createCertifiedKey } from '@parley/test/certificates'
import {
  assertionOf,
  createIdentityProvider,
  responseAround,
  type Said,
  type Signing,
  signElement,
} from '@parley/test/identity-provider'
import { DOMParser, XMLSerializer } from '@xmldom/xmldom'
import { beforeEach, describe, expect, test } from 'vitest'
import { addPerson, running } from '../oauth/running.testing.ts'

const idp = createIdentityProvider()
const server = running({ auth: { isInviteRequired: false }, saml: [idp.entry] })
const boss = { nameId: 'boss', attributes: { email: 'boss@example.com' } }

let browser: Browser
let requestId: string
beforeEach(async () => {
  browser = server.browser()
  requestId = await idp.begin(browser)
})

/** The result of a sign-in with this response: the address of the person, or the code of the failure. */
async function outcome(xml: string, by = browser): Promise<string> {
  const { location, status, body } = await idp.post(by, server.baseUrl, xml)
  if (location === null) throw new Error(`${status} ${body}`)
  const { access_token, oauth_error_code } = Object.fromEntries(new URL(location).searchParams)
  return oauth_error_code ?? String((await server.whoIs(access_token)).user?.email)
}
const respond = (said: Partial<Said> = {}, signing: Signing = {}) => idp.respond(requestId, said, signing)

test('a good response signs in', async () => {
  expect(await outcome(respond())).toBe('ann@example.com')
})

describe('a response counts once', () => {
  test('also when it comes twice at once', async () => {
    const xml = respond()
    expect((await Promise.all([outcome(xml), outcome(xml), outcome(xml)])).sort()).toEqual([
      'ann@example.com',
      'invalid_state',
      'invalid_state',
    ])
  })

  test('its assertion is accepted in no other response', async () => {
    const xml = respond()
    expect(await outcome(xml)).toBe('ann@example.com')
    const next = await idp.begin(browser)
    expect(await outcome(xml.replace(/(<samlp:Response[^>]* InResponseTo=")[^"]+/, `$1${next}`))).toBe(
      'provider_unavailable',
    )
  })

  test('is accepted only in the browser that began the sign-in', async () => {
    expect(await outcome(respond(), server.browser())).toBe('invalid_state')
    expect(await outcome(respond())).toBe('invalid_state')
  })

  test('the same id of an assertion is refused with another request', async () => {
    expect(await outcome(respond({ id: '_the-same' }))).toBe('ann@example.com')
    const next = await idp.begin(browser)
    expect(await outcome(idp.respond(next, { id: '_the-same' }))).toBe('invalid_state')
  })
})

describe('nobody signs in with a response', () => {
  const minutes = 60_000
  test.each<[string, Partial<Said>, Signing]>([
    ['without any signature', {}, { sign: 'none' }],
    ['that is signed around an assertion that is not', {}, { sign: 'response' }],
    ['signed by a stranger', {}, { key: createCertifiedKey() }],
    ['for another audience', { audience: 'https://other.example.com' }, {}],
    ['for another recipient', { recipient: `${appUrl}/auth/saml/other/acs` }, {}],
    ['of another issuer', { issuer: 'https://evil.example.com' }, {}],
    ['whose assertion answers another request', { inResponseTo: `_${'a'.repeat(43)}` }, {}],
    ['whose assertion answers no request', { inResponseTo: null }, {}],
    ['that has expired', { notOnOrAfter: Date.now() - 2 * minutes }, {}],
    ['that is not valid yet', { notBefore: Date.now() + 5 * minutes }, {}],
    ['about nobody', { nameId: ' ' }, {}],
    ['about somebody whose name is too long', { nameId: 'a'.repeat(300) }, {}],
    ['about somebody whose name has a NUL', { nameId: 'ann&#0;' }, {}],
  ])('%s', async (_, said, signing) => {
    expect(await outcome(respond(said, signing))).toBe('provider_unavailable')
  })

  test.each([
    ['a signature', { signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }],
    ['a digest', { digestAlgorithm: 'http://www.w3.org/2000/09/xmldsig#sha1' }],
  ])('with %s of SHA-1', async (_, signing) => {
    expect(await outcome(respond({}, signing))).toBe('provider_unavailable')
    expect(server.logged.join('\n')).toContain('such as SHA-1')
  })

  test('that the provider began', async () => {
    expect(await outcome(idp.respond('', { inResponseTo: null }).replace(' InResponseTo=""', ''))).toBe('invalid_state')
    expect(await outcome(idp.respond(`_${'b'.repeat(43)}`))).toBe('invalid_state')
  })

  test('that was sent to another address', async () => {
    const to = (destination: string) =>
      respond().replace(/ Destination="[^"]*"/, destination === '' ? '' : ` Destination="${destination}"`)
    expect(await outcome(to(`${appUrl}/auth/saml/other/acs`))).toBe('provider_unavailable')
    expect(server.logged.join('\n')).toContain('its Destination is not ours')
    requestId = await idp.begin(browser)
    expect(await outcome(to(''))).toBe('ann@example.com')
  })

  test('that was changed after it was signed', async () => {
    expect(await outcome(respond().replace('>ann<', '>boss<'))).toBe('provider_unavailable')
  })

  test('that says why it refuses', async () => {
    const denied = responseAround('', requestId).replace('status:Success', 'status:Responder')
    expect(await outcome(denied)).toBe('provider_refused')
  })
})

describe('comments and document types', () => {
  test.each([
    [
      'a comment in the NameID, signed as text without it',
      { canonicalization: 'http://www.w3.org/2001/10/xml-exc-c14n#' },
    ],
    [
      'a comment in the NameID that is signed too',
      { canonicalization: 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments' },
    ],
  ])('%s', async (_, signing) => {
    const said = { ...boss, nameId: 'boss<!-- -->.evil' }
    expect(await outcome(respond(said, signing))).toBe('invalid_state')
    const injected = idp
      .respond(await idp.begin(browser), { ...boss, nameId: 'bossevil' })
      .replace('bossevil', 'boss<!---->evil')
    expect(await outcome(injected)).toBe('invalid_state')
  })

  test.each([
    ['an external entity', '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>', '&x;'],
    [
      'entities that grow',
      `<!DOCTYPE r [<!ENTITY a "${'a'.repeat(1000)}"><!ENTITY b "${'&a;'.repeat(1000)}">]>`,
      '&b;',
    ],
    ['a processing instruction', '<?xml-stylesheet href="http://127.0.0.1/"?>', 'ann'],
  ])('%s', async (_, prolog, nameId) => {
    expect(await outcome(prolog + respond().replace('>ann<', `>${nameId}<`))).toBe('invalid_state')
  })
})

/** Signature wrapping, as numbered in “On Breaking SAML: Be Whoever You Want to Be” (Somorovsky and others, 2012). */
describe('signature wrapping', () => {
  /** The parts of a signed element: as signed, without its signature, and the signature. */
  function takeApart(xml: string, name: 'Assertion' | 'Response') {
    const document = new DOMParser().parseFromString(xml, 'text/xml')
    const signed = document.getElementsByTagNameNS('*', name)[0]!
    const signature = Array.from(signed.childNodes).find((node) => (node as Element).localName === 'Signature')!
    const text = (node: Node) => new XMLSerializer().serializeToString(node)
    const [whole, sign] = [text(signed), text(signature)]
    signed.removeChild(signature)
    return { whole, signature: sign, bare: text(signed) }
  }
  const evil = () => assertionOf(requestId, { ...boss, id: '_evil' })
  /** Puts something at the end of an element. */
  const into = (element: string, inside: string) => element.replace(/<\/[\w:]+>$/, (end) => inside + end)
  /** Puts a signature where it belongs in an assertion. */
  const signedBy = (assertion: string, signature: string) =>
    assertion.replace('</saml:Issuer>', `</saml:Issuer>${signature}`)
  const object = (inside: string) => `<ds:Object xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${inside}</ds:Object>`

  const ofAssertion = () => takeApart(respond(), 'Assertion')
  const ofResponse = () => takeApart(respond({}, { sign: 'response' }), 'Response')
  const evilResponse = (inside: string) =>
    responseAround(evil(), requestId, '_evil-response').replace('</saml:Issuer>', `</saml:Issuer>${inside}`)

  const inExtensions = (extension: string, content = '') =>
    responseAround(content, requestId).replace(
      '<samlp:Status>',
      `<samlp:Extensions>${extension}</samlp:Extensions><samlp:Status>`,
    )

  const attacks: [string, () => string][] = [
    [
      '1: the signed response inside of the signature',
      () => evilResponse(into(ofResponse().signature, object(ofResponse().bare))),
    ],
    ['2: the signed response before its signature', () => evilResponse(ofResponse().bare + ofResponse().signature)],
    ['3: another assertion before the signed one', () => responseAround(evil() + ofAssertion().whole, requestId)],
    ['4: the signed assertion inside of another', () => responseAround(into(evil(), ofAssertion().whole), requestId)],
    [
      '5: another assertion with the signature, and the signed one behind',
      () => {
        const { signature, bare } = ofAssertion()
        return responseAround(signedBy(evil(), signature) + bare, requestId)
      },
    ],
    [
      '6: the signed assertion inside of the signature of another',
      () => {
        const { signature, bare } = ofAssertion()
        return responseAround(signedBy(evil(), into(signature, bare)), requestId)
      },
    ],
    [
      '8: the signed assertion in an object of the signature of another',
      () => {
        const { signature, bare } = ofAssertion()
        return responseAround(signedBy(evil(), into(signature, object(bare))), requestId)
      },
    ],
    [
      'with the id of the signed assertion',
      () => {
        const { signature, bare } = ofAssertion()
        const id = /ID="([^"]+)"/.exec(bare)![1]!
        return responseAround(signedBy(evil().replace('_evil', id), into(signature, object(bare))), requestId)
      },
    ],
    [
      'with two signed assertions',
      () => responseAround(ofAssertion().whole + takeApart(respond(boss), 'Assertion').whole, requestId),
    ],
    ['with the signed assertion in extensions alone', () => inExtensions(ofAssertion().whole)],
    [
      'with an encrypted assertion beside the signed one',
      () => responseAround(`<saml:EncryptedAssertion/>${ofAssertion().whole}`, requestId),
    ],
    [
      'with what the provider signed before what a stranger signed',
      () => {
        const [signed, evilSigned] = [
          ofAssertion(),
          takeApart(respond(boss, { key: createCertifiedKey() }), 'Assertion'),
        ]
        const [info, value] = [/<ds:SignedInfo.*<\/ds:SignedInfo>/s, /<ds:SignatureValue.*<\/ds:SignatureValue>/s]
        const mixed = evilSigned.whole
          .replace(info, (own) => info.exec(signed.signature)![0] + own)
          .replace(value, value.exec(signed.signature)![0])
        return responseAround(mixed, requestId)
      },
    ],
    [
      'with a signature over everything by a reference without an id',
      () => respond(boss, { key: createCertifiedKey() }).replace(/URI="#[^"]+"/, 'URI=""'),
    ],
  ]
  test.each(attacks)('%s', async (_, attack) => {
    expect(await outcome(attack())).toBe('provider_unavailable')
  })

  test('7: another assertion in extensions is not read', async () => {
    const { whole } = ofAssertion()
    expect(await outcome(inExtensions(evil(), whole))).toBe('ann@example.com')
  })
})

describe('a text that is not a response', () => {
  test.each([
    ['nothing', ''],
    ['no XML', 'SAML'],
    ['another document', '<html/>'],
    ['half of one', '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"'],
    ['an assertion alone', signElement(assertionOf('_a'), 'Assertion', { key: idp.key })],
    ['bytes that are no text', '\0\uffff'],
  ])('%s leads back with a failure', async (_, xml) => {
    expect(await outcome(xml)).toBe('invalid_state')
  })

  const send = (body: BodyInit, type?: string) =>
    fetch(`${server.baseUrl}/auth/saml/corp/acs`, {
      method: 'POST',
      body,
      redirect: 'manual',
      ...(type && { headers: { 'content-type': type } }),
    })

  test.each([
    ['JSON', '{"SAMLResponse":"AAAA"}', 'application/json', 400],
    ['a form without a response', new URLSearchParams({ other: 'a' }), undefined, 400],
    ['two responses', 'SAMLResponse=a&SAMLResponse=b', 'application/x-www-form-urlencoded', 400],
    ['too much', new URLSearchParams({ SAMLResponse: 'A'.repeat(500_000) }), undefined, 413],
  ])('%s is refused', async (_, body, type, status) => {
    expect((await send(body, type)).status).toBe(status)
  })
})

describe('XML that takes long to parse or to search is refused before it is parsed', () => {
  const many = (count: number, part: (n: number) => string) => Array.from({ length: count }, (_, n) => part(n)).join('')
  const prefixes = (count: number) => many(count, (n) => ` xmlns:p${n}="urn:x"`)

  test.each([
    ['deep elements', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`],
    ['deep elements after tags that close nothing', `${'</a>'.repeat(10_000)}${'<a>'.repeat(10_000)}`],
    ['many elements', '<a/>'.repeat(50_000)],
    ['many elements in ten others', `<a>${'<b/>'.repeat(350)}</a>`.repeat(10)],
    ['many CDATA sections in front of a few elements', '<![CDATA[x]]>'.repeat(3_500) + '<a/>'.repeat(100)],
    ['many texts between elements', 'x<a/>'.repeat(1_800)],
    ['deep elements that look closed', `${'<a b="/>" >/>'.repeat(10_000)}${'</a>'.repeat(10_000)}`],
    [
      'deep elements that a CDATA section seems to close',
      `${'<a><![CDATA[</a>]]>'.repeat(10_000)}${'</a>'.repeat(10_000)}`,
    ],
    ['deep namespaces', `${many(7_000, (n) => `<a xmlns:p${n}="urn:x">`)}${'</a>'.repeat(7_000)}`],
    ['many namespaces', `<a${prefixes(3_000)}>${'<b xmlns="urn:x"/>'.repeat(5_000)}</a>`],
    ['a tag within quotation marks', '<a b="<a>"/>'],
  ])('%s', async (_, xml) => {
    expect(await outcome(responseAround(xml, requestId))).toBe('invalid_state')
  })

  test('a response with each of a thousand groups on a line of its own is accepted', async () => {
    const attributes = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`group ${n}`, 'yes']))
    const said = assertionOf(requestId, { attributes: { email: 'ann@example.com', ...attributes } })
    const xml = responseAround(said.replaceAll('</saml:Attribute>', '</saml:Attribute>\n'), requestId)
    expect(await outcome(signElement(xml, 'Assertion', { key: idp.key }))).toBe('ann@example.com')
  })

  test('a large response is accepted', async () => {
    const departments = Array.from({ length: 1_000 }, (_, n) => `Department ${n} <![CDATA[<R&D> "/>" ]]>`)
    expect(await outcome(respond({ attributes: { email: 'ann@example.com', departments } }))).toBe('ann@example.com')
  })
})

test('the account of somebody else is not reached by their address in a NameID of the wrong format', async () => {
  await addPerson(server, 'victim')
  const said = {
    nameId: 'victim@example.com',
    attributes: {},
    format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
  }
  expect(await outcome(respond(said))).toBe('no_verified_email')
})

test('nothing of a refused response is logged', async () => {
  server.logged.length = 0
  await outcome(respond({ ...boss, audience: 'https://other.example.com' }))
  const log = server.logged.join('\n')
  expect(log).toContain('a sign-in through a provider failed')
  for (const secret of ['boss', idp.key.certificate.slice(100, 130), 'SAMLResponse']) expect(log).not.toContain(secret)
})
