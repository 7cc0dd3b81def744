import { type CacheProvider, SAML, SamlStatusError, ValidateInResponseTo } from '@node-saml/node-saml'
import type { Config } from '@parley/config'
import type { DirectoryPerson, DirectoryPolicy } from '../single-sign-on/admission.ts'
import { displayNameFrom, listClaim, textClaim, userNameFrom } from '../single-sign-on/claims.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import { type Assertion, readAssertion } from './assertions.ts'

type Entry = Config['saml'][number]

/** Milliseconds by which the provider's clock may differ from ours. */
const toleratedMs = 60_000

const formats = 'urn:oasis:names:tc:SAML:1.1:nameid-format:'
const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
const schemas = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/'
const microsoft = 'http://schemas.microsoft.com/'

/** The usual names of attributes: plain names, those of X.500, and those of Microsoft. */
const usual = {
  email: ['email', 'mail', `${schemas}emailaddress`, 'urn:oid:0.9.2342.19200300.100.1.3'],
  userName: ['userName', 'uid', 'urn:oid:0.9.2342.19200300.100.1.1', `${schemas}name`],
  displayName: [
    'displayName',
    'cn',
    'urn:oid:2.16.840.1.113730.3.1.241',
    'urn:oid:2.5.4.3',
    `${microsoft}identity/claims/displayname`,
  ],
  language: ['preferredLanguage', 'locale', 'urn:oid:2.16.840.1.113730.3.1.39'],
  groups: ['groups', `${microsoft}ws/2008/06/identity/claims/groups`],
  roles: ['roles', 'Role', `${microsoft}ws/2008/06/identity/claims/role`],
}

/** The person whom an assertion describes, and the assertion itself, whose id is accepted once. */
interface AssertedPerson {
  person: DirectoryPerson
  policy: DirectoryPolicy
  assertion: Assertion
}

/** A configured SAML provider. `@node-saml/node-saml` implements the protocol and checks signatures. */
export function createSamlProvider(entry: Entry, appUrl: string) {
  const { id, name, entityId } = entry
  const acsUrl = `${appUrl}/auth/saml/${id}/acs`
  // The configuration always has these. When the operator does not set them, it reads them from the provider's
  // metadata.
  const entryPoint = entry.entryPoint!
  const idpCert = [...entry.certificates!]
  const idpIssuer = entry.idpIssuer!

  const service = (requestId: string) =>
    new SAML({
      entryPoint,
      issuer: entityId,
      audience: entityId,
      callbackUrl: acsUrl,
      idpCert,
      idpIssuer,
      identifierFormat: null,
      disableRequestedAuthnContext: true,
      wantAssertionsSigned: true,
      // The response around the assertion need not be signed.
      wantAuthnResponseSigned: false,
      acceptedClockSkewMs: toleratedMs,
      validateInResponseTo: ValidateInResponseTo.always,
      cacheProvider: cacheOf(requestId),
      generateUniqueId: () => requestId,
    })

  return {
    id,
    name,
    acsUrl,
    metadata: service('').generateServiceProviderMetadata(null, null),
    /** The address to which the browser is sent to sign in. */
    startUrl: (requestId: string): Promise<string> => service(requestId).getAuthorizeUrlAsync('', undefined, {}),
    /** Reads the answer to this request. @throws SignInFailure */
    async identify(response: string, requestId: string, now: number): Promise<AssertedPerson> {
      const { profile } = await service(requestId)
        .validatePostResponseAsync({ SAMLResponse: response })
        .catch((error: unknown) => {
          // An error answer has no assertion and no signature, so its text is not logged.
          if (error instanceof SamlStatusError) throw new SignInFailure('provider_refused')
          throw invalidResponse((error as Error).message.slice(0, 200))
        })
      if (!profile) throw invalidResponse('the answer has no assertion')
      const assertion = readAssertion(profile.getAssertion?.(), { requestId, acsUrl, idpIssuer, now, toleratedMs })
      if (typeof assertion === 'string') throw invalidResponse(assertion)
      return { person: personOf(assertion), policy: entry, assertion }
    },
  }

  function personOf({ subject, format, attributes }: Assertion): DirectoryPerson {
    if (format === transient) throw invalidResponse('the NameID is transient, but it must be persistent')
    const { claims = {} } = entry
    /** The names of the attribute for a field: the configured one, or else the usual ones. */
    const namesOf = (field: keyof typeof usual) => (claims[field] === undefined ? usual[field] : [claims[field]])
    const text = (field: keyof typeof usual) => first(namesOf(field), (name) => textClaim(attributes, name))
    const list = (field: keyof typeof usual) => first(namesOf(field), (name) => listClaim(attributes, name))
    return {
      identity: { protocol: 'saml', issuer: idpIssuer, subject },
      // The address is trusted, because it comes from the organisation's own directory.
      email: text('email') ?? (format === `${formats}emailAddress` ? subject : undefined),
      userName: userNameFrom(text('userName')),
      displayName: displayNameFrom(text('displayName')),
      language: text('language'),
      groups: list('groups'),
      roles: list('roles') ?? [],
    }
  }
}

export type SamlProvider = ReturnType<typeof createSamlProvider>

/** The failure for a response of the provider that is not valid. The reason is for the log. */
export const invalidResponse = (reason: string) =>
  new SignInFailure('provider_unavailable', { cause: new Error(reason) })

const first = <T>(names: readonly string[], read: (name: string) => T | undefined): T | undefined =>
  names.map(read).find((value) => value !== undefined)

/** The library's cache of requests. It contains only this request. The route has checked before that this browser made it. */
const cacheOf = (requestId: string): CacheProvider => ({
  saveAsync: async (key, value) => ({ value, createdAt: Date.now(), key }) as never,
  getAsync: async (key) => (key === requestId ? new Date().toISOString() : null),
  removeAsync: async (key) => key,
})
