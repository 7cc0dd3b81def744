import { X509Certificate } from 'node:crypto'
import { DOMParser } from '@xmldom/xmldom'

/** The facts that Parley reads from a SAML provider's metadata. */
interface SamlMetadata {
  entryPoint: string
  /** In PEM. */
  certificates: string[]
  idpIssuer: string
}

const saml = 'urn:oasis:names:tc:SAML:2.0:metadata'
const signatures = 'http://www.w3.org/2000/09/xmldsig#'
const redirect = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'

/**
 * Reads the metadata of one identity provider (SAML 2.0 Metadata, 2.4.3). Undefined when the text is not such XML, or
 * lacks the entity id, the address for HTTP-Redirect or a certificate for signing. The operator supplies the file, so
 * its signature is not checked.
 */
export function readSamlMetadata(xml: string): SamlMetadata | undefined {
  const root = parse(xml)
  const entities = root?.localName === 'EntityDescriptor' ? [root] : elements(root, 'EntityDescriptor')
  const entity = entities.find((one) => elements(one, 'IDPSSODescriptor').length > 0)
  const provider = entity && elements(entity, 'IDPSSODescriptor')[0]
  const entryPoint = elements(provider, 'SingleSignOnService')
    .find((service) => service.getAttribute('Binding') === redirect)
    ?.getAttribute('Location')
  const certificates = elements(provider, 'KeyDescriptor')
    .filter((key) => key.getAttribute('use') !== 'encryption')
    .flatMap((key) => elements(key, 'X509Certificate', signatures))
    .flatMap(({ textContent }) => asPem(textContent ?? ''))
  const idpIssuer = entity?.getAttribute('entityID')
  if (!entryPoint || !idpIssuer || certificates.length === 0) return undefined
  return { entryPoint, idpIssuer, certificates: [...new Set(certificates)] }
}

/**
 * Undefined when the text is not XML. A document type is refused, because entities could expand a short text to a very
 * long one.
 */
function parse(xml: string): Element | undefined {
  if (/<!DOCTYPE|<!ENTITY/i.test(xml)) return undefined
  const refuse = () => {
    throw new SyntaxError('not XML')
  }
  try {
    const parser = new DOMParser({ errorHandler: { warning: () => {}, error: refuse, fatalError: refuse } })
    return parser.parseFromString(xml, 'text/xml').documentElement ?? undefined
  } catch {
    return undefined
  }
}

const elements = (inside: Element | undefined, name: string, namespace = saml): Element[] =>
  inside ? Array.from(inside.getElementsByTagNameNS(namespace, name)) : []

function asPem(base64: string): string[] {
  try {
    return [new X509Certificate(Buffer.from(base64, 'base64')).toString()]
  } catch {
    return []
  }
}
