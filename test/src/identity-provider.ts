import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { appUrl, type Browser, type Visit } from './browser.ts'
import { type CertifiedKey, createCertifiedKey } from './certificates.ts'

export const idpIssuer = 'https://idp.example.com/entity'
const acsUrlOf = (id: string) => `${appUrl}/auth/saml/${id}/acs`
const entityIdOf = (id: string) => `${appUrl}/auth/saml/${id}/metadata`
const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256'
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const canonical = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/** The content of an assertion. `null` leaves a field out. */
export interface Said {
  id: string
  issuer: string
  nameId: string
  format: string
  recipient: string
  audience: string
  inResponseTo: string | null
  notBefore: number
  notOnOrAfter: number
  /** The `SessionNotOnOrAfter` of each `AuthnStatement`: a time, a text, or `null` for none. */
  sessionEnds: (number | string | null)[]
  /** The values of each attribute. A list of lists is written as several attributes of the same name. */
  attributes: Record<string, string | string[] | string[][]>
}

export interface Signing {
  key?: CertifiedKey
  sign?: 'assertion' | 'response' | 'both' | 'none'
  signatureAlgorithm?: string
  digestAlgorithm?: string
  canonicalization?: string
}

/** A SAML provider with this id, which can send wrong assertions. */
export function createIdentityProvider(id = 'corp') {
  const key = createCertifiedKey()

  /** The id of the request in the redirect to the provider. */
  const readRequest = (location: string) => {
    const deflated = Buffer.from(new URL(location).searchParams.get('SAMLRequest')!, 'base64')
    const xml = inflateRawSync(deflated).toString('utf8')
    return { xml, id: /ID="([^"]+)"/.exec(xml)![1]! }
  }

  return {
    key,
    readRequest,
    /** Posts a response from the provider's page, with the cookies of the browser. */
    post: (browser: Browser, baseUrl: string, xml: string) => postTo(`${baseUrl}/auth/saml/${id}/acs`, browser, xml),
    /** The configuration of this provider. */
    entry: {
      id,
      name: 'Our directory',
      entryPoint: 'https://idp.example.com/sso',
      certificates: [key.certificate],
      idpIssuer,
      entityId: entityIdOf(id),
    },
    /** Begins a sign-in and returns the id of the request. */
    async begin(browser: Browser, query = ''): Promise<string> {
      const { location } = await browser.visit(`${appUrl}/auth/saml/${id}${query}`)
      return readRequest(location!).id
    },
    /** A response of this provider, in XML. */
    respond: (requestId: string, said: Partial<Said> = {}, signing: Signing = {}) =>
      signedResponse(
        id,
        requestId,
        { recipient: acsUrlOf(id), audience: entityIdOf(id), ...said },
        { key, ...signing },
      ),
  }
}

export const assertionOf = (requestId: string, said: Partial<Said> = {}): string => {
  const now = Date.now()
  const all: Said = {
    id: `_a${crypto.randomUUID()}`,
    issuer: idpIssuer,
    nameId: 'ann',
    format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    recipient: acsUrlOf('corp'),
    audience: entityIdOf('corp'),
    inResponseTo: requestId,
    notBefore: now - 5_000,
    notOnOrAfter: now + 300_000,
    sessionEnds: [null],
    attributes: { email: 'ann@example.com' },
    ...said,
  }
  const at = (moment: number) => new Date(moment).toISOString()
  const attribute = (name: string, values: string[]) =>
    `<saml:Attribute Name="${name}">${values
      .map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`)
      .join('')}</saml:Attribute>`
  const attributesOf = ([name, values]: [string, string | string[] | string[][]]) => {
    const lists = Array.isArray(values) && values.every(Array.isArray) ? values : [[values].flat() as string[]]
    return lists.map((list) => attribute(name, list as string[])).join('')
  }
  const statement = (end: number | string | null) => {
    const until = end === null ? '' : ` SessionNotOnOrAfter="${typeof end === 'string' ? end : at(end)}"`
    return `<saml:AuthnStatement AuthnInstant="${at(now)}"${until}><saml:AuthnContext/></saml:AuthnStatement>`
  }
  const answers = all.inResponseTo === null ? '' : ` InResponseTo="${all.inResponseTo}"`
  return (
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${all.id}" Version="2.0" IssueInstant="${at(now)}">` +
    `<saml:Issuer>${all.issuer}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="${all.format}">${all.nameId}</saml:NameID>` +
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">' +
    `<saml:SubjectConfirmationData${answers} NotOnOrAfter="${at(all.notOnOrAfter)}" Recipient="${all.recipient}"/>` +
    '</saml:SubjectConfirmation></saml:Subject>' +
    `<saml:Conditions NotBefore="${at(all.notBefore)}" NotOnOrAfter="${at(all.notOnOrAfter)}">` +
    `<saml:AudienceRestriction><saml:Audience>${all.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    all.sessionEnds.map(statement).join('') +
    `<saml:AttributeStatement>${Object.entries(all.attributes).map(attributesOf).join('')}</saml:AttributeStatement>` +
    '</saml:Assertion>'
  )
}

/** A response around this content, to a provider with the id `corp`. */
export const responseAround = (
  content: string,
  requestId: string | null,
  id = `_r${crypto.randomUUID()}`,
  destination = acsUrlOf('corp'),
) =>
  '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ' +
  `ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${destination}"` +
  `${requestId === null ? '' : ` InResponseTo="${requestId}"`}><saml:Issuer>${idpIssuer}</saml:Issuer>` +
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>' +
  `${content}</samlp:Response>`

function signedResponse(
  providerId: string,
  requestId: string,
  said: Partial<Said>,
  signing: Signing & { key: CertifiedKey },
): string {
  const { sign = 'assertion' } = signing
  let xml = responseAround(assertionOf(requestId, said), requestId, undefined, acsUrlOf(providerId))
  if (sign === 'assertion' || sign === 'both') xml = signElement(xml, 'Assertion', signing)
  if (sign === 'response' || sign === 'both') xml = signElement(xml, 'Response', signing)
  return xml
}

/** Signs the first element with this name. The signature comes after the issuer, as SAML requires. */
export function signElement(xml: string, name: 'Assertion' | 'Response', signing: Signing & { key: CertifiedKey }) {
  const { key, signatureAlgorithm = rsaSha256, digestAlgorithm = sha256, canonicalization = canonical } = signing
  const signer = new SignedXml({
    privateKey: key.privateKey,
    signatureAlgorithm,
    canonicalizationAlgorithm: canonicalization as typeof canonical,
  })
  const xpath = `//*[local-name(.)='${name}']`
  const transforms = ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', canonicalization]
  signer.addReference({ xpath, digestAlgorithm, transforms })
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[local-name(.)='Issuer']`, action: 'after' },
  })
  return signer.getSignedXml()
}

async function postTo(url: string, browser: Browser, xml: string): Promise<Visit> {
  const origin = `${new URL(appUrl).origin} `
  const cookies = [...browser.cookies].filter(([key]) => key.startsWith(origin))
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'x-forwarded-for': browser.ip,
      origin: 'https://idp.example.com',
      cookie: cookies.map(([key, value]) => `${key.slice(origin.length)}=${value}`).join('; '),
    },
    body: new URLSearchParams({ SAMLResponse: Buffer.from(xml).toString('base64') }),
  })
  const { status, headers } = response
  return { status, location: headers.get('location'), headers, body: await response.text() }
}
