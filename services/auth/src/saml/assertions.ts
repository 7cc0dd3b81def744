import { DOMParser } from '@xmldom/xmldom'
import { type Claims, isObject } from '../single-sign-on/claims.ts'
import { isWithinBounds } from './xml-bounds.ts'

const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
const signatures = 'http://www.w3.org/2000/09/xmldsig#'
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** The allowed algorithms of signatures. SHA-1 and shared secrets are not allowed. */
const allowedAlgorithms = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])

/** The part of a response that no signature covers. */
interface ResponseHead {
  /** The id of the request that the response answers, as it claims. */
  inResponseTo: string
  /** The reason when the response is refused because of its head alone. */
  fault: string | undefined
}

/**
 * Reads the head of a response to `acsUrl`; undefined when it does not answer a request. Document types, entities, comments and processing instructions
 * are refused before parsing: providers do not need them, but attacks use them. A comment can split the text of a `NameID`, for example.
 */
export function readResponseHead(response: string, acsUrl: string): ResponseHead | undefined {
  const xml = Buffer.from(response, 'base64').toString('utf8')
  if (/<!(?!\[CDATA\[)|<\?(?!xml\s)/i.test(xml) || !isWithinBounds(xml)) return undefined
  const root = parse(xml)
  if (root?.namespaceURI !== protocol || root.localName !== 'Response') return undefined
  const algorithms = ['SignatureMethod', 'DigestMethod']
    .flatMap((name) => Array.from(root.getElementsByTagNameNS(signatures, name)))
    .map((element) => element.getAttribute('Algorithm') ?? '')
  const inResponseTo = root.getAttribute('InResponseTo')
  if (!inResponseTo) return undefined
  if (!algorithms.every((algorithm) => allowedAlgorithms.has(algorithm))) {
    return { inResponseTo, fault: 'signed with an algorithm that is refused here, such as SHA-1' }
  }
  // SAML 2.0 Core, 3.2.2: a response with another destination must be refused. It may have none.
  const isMisdirected = root.hasAttribute('Destination') && root.getAttribute('Destination') !== acsUrl
  return { inResponseTo, fault: isMisdirected ? 'sent to another address: its Destination is not ours' : undefined }
}

function parse(xml: string): Element | undefined {
  const refuse = () => {
    throw new SyntaxError('not XML')
  }
  try {
    const parser = new DOMParser({ errorHandler: { warning: refuse, error: refuse, fatalError: refuse } })
    return parser.parseFromString(xml, 'text/xml').documentElement ?? undefined
  } catch {
    return undefined
  }
}

/** The facts of a signed assertion. */
export interface Assertion {
  id: string
  /** The text of the `NameID`, and its format. */
  subject: string
  format: string | undefined
  /** From this time on, the assertion is refused because of its age. */
  expiresAt: number
  /** When the session at the provider ends (`SessionNotOnOrAfter`). Undefined when the provider says nothing about it. */
  sessionEndsBy: number | undefined
  /** The values of each attribute, which are texts or undefined. */
  attributes: Claims
}

interface Expected {
  requestId: string
  acsUrl: string
  idpIssuer: string
  now: number
  toleratedMs: number
}

/** An element as `xml2js` reads it: its attributes are in `$`, its text is in `_`, and its children are under their names. */
type XmlElement = Record<string, unknown> & { $?: Record<string, string>; _?: string }

const longestName = 255

/**
 * Checks what the library does not check: that the assertion names its subject, this provider, this address and this
 * request. Only the assertion is signed, so the fields of the response around it do not count. Returns the reason when
 * the assertion is refused.
 */
export function readAssertion(parsed: unknown, expected: Expected): Assertion | string {
  const assertion = isObject(parsed) ? (parsed.Assertion as XmlElement | undefined) : undefined
  const id = assertion?.$?.ID
  if (!assertion || !id) return 'the assertion has no ID'
  const { requestId, acsUrl, idpIssuer, now, toleratedMs } = expected
  if (textOf(singleElement(assertion.Issuer)) !== idpIssuer) return 'the assertion has another issuer'
  if (!singleElement(assertion.Conditions)) return 'the assertion has no conditions'

  const subject = singleElement(assertion.Subject)
  const nameId = singleElement(subject?.NameID)
  const name = textOf(nameId)
  if (!name || name.length > longestName || name.includes('\0')) return 'the assertion has no usable NameID'

  const ends = elements(subject!.SubjectConfirmation)
    .filter(({ $ }) => $?.Method === bearer)
    .map((confirmation) => singleElement(confirmation.SubjectConfirmationData)?.$ ?? {})
    .filter(({ Recipient, InResponseTo }) => Recipient === acsUrl && InResponseTo === requestId)
    .map(({ NotOnOrAfter }) => Date.parse(NotOnOrAfter ?? ''))
    .filter((end) => end + toleratedMs > now)
  if (ends.length === 0) return 'the assertion is not confirmed for this address, this request and this time'

  const sessionEndsBy = readSessionEnd(assertion)
  // There is no tolerance for wrong clocks: a session that ends at this time would have ended already.
  if (sessionEndsBy !== undefined && !(sessionEndsBy > now)) return 'the session at the provider has ended'
  const expiresAt = Math.max(...ends) + 2 * toleratedMs
  const attributes = readAttributes(assertion)
  return { id, subject: name, format: nameId!.$?.Format, expiresAt, sessionEndsBy, attributes }
}

/**
 * The values of the attributes, each value once. Some providers write each value as an attribute of its own, such as
 * Keycloak the roles. An attribute without values is an empty list.
 */
function readAttributes({ AttributeStatement }: XmlElement): Claims {
  const all = elements(AttributeStatement).flatMap(({ Attribute }) => elements(Attribute))
  const byName = Map.groupBy(all, ({ $ }) => $?.Name ?? '')
  const valuesOf = (same: XmlElement[]) =>
    same.flatMap(({ AttributeValue }) => elements(AttributeValue).map(plainTextOf))
  return Object.fromEntries(byName.entries().map(([name, same]) => [name, [...new Set(valuesOf(same))]]))
}

/** The text of an element without other elements in it. */
const plainTextOf = (element: XmlElement): string | undefined =>
  Object.keys(element).every((key) => key === '_' || key === '$') ? element._ : undefined

/** The earliest `SessionNotOnOrAfter` of the assertion (SAML 2.0 Core, 2.7.2). NaN when one is not a time. */
function readSessionEnd({ AuthnStatement }: XmlElement): number | undefined {
  const ends = elements(AuthnStatement)
    .map(({ $ }) => $?.SessionNotOnOrAfter)
    .filter((end) => end !== undefined)
  return ends.length === 0 ? undefined : Math.min(...ends.map((end) => Date.parse(end)))
}

const elements = (value: unknown): XmlElement[] =>
  Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? { _: one } : (one as XmlElement))) : []

/** The only element; undefined when there are none or several. */
function singleElement(value: unknown): XmlElement | undefined {
  const all = elements(value)
  return all.length === 1 ? all[0] : undefined
}

const textOf = (element: XmlElement | undefined): string | undefined => element?._?.trim() || undefined
