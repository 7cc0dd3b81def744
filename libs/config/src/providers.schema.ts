import { X509Certificate } from 'node:crypto'
import { Type } from 'typebox'
import { readSamlMetadata } from './saml-metadata.ts'
import { BaseUrl, HttpUrl, Switch, Text } from './values.schema.ts'

const RedirectUri = HttpUrl({
  description: 'Callback address registered with the provider.',
  derived: '<auth.appUrl>/auth/oauth/<provider id>/callback',
})

export const credentials = {
  clientId: Text({ description: 'Client id given by the provider.' }),
  clientSecret: Text({ description: 'Client secret given by the provider.' }),
  redirectUri: RedirectUri,
}

/** The scopes of a custom provider whose entry names none. */
export const defaultScopes = ['openid', 'email', 'profile']

const idAndName = {
  id: Text({
    description: 'Name of the provider in paths.',
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$',
    expects: 'letters, digits, `-` and `_`',
  }),
  name: Text({ description: 'Name that people see.' }),
}

const Claim = (description: string, usual: string) =>
  Type.Optional(Text({ description: `${description} Default: ${usual}.`, maxLength: 200 }))

const Values = (description: string, expects: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { description, expects }))

/** The facts about people that a provider of an organisation may send, and their consequences. */
const directory = (usual: Record<'email' | 'userName' | 'displayName' | 'language' | 'groups' | 'roles', string>) => ({
  claims: Type.Optional(
    Type.Object({
      email: Claim('Claim with the e-mail address.', usual.email),
      userName: Claim('Claim with the preferred user name.', usual.userName),
      displayName: Claim('Claim with the display name.', usual.displayName),
      language: Claim('Claim with the language of the mails to the person.', usual.language),
      groups: Claim(
        'Claim with the list of groups. At each sign-in the person becomes a member of exactly these groups.',
        usual.groups,
      ),
      roles: Claim('Claim with the list of roles.', usual.roles),
    }),
  ),
  adminRoles: Values(
    'Roles whose holders are admins. Somebody who loses all of them is no longer an admin, unless an admin appointed them.',
    'a list of roles',
  ),
  allowedDomains: Values(
    'Only people with a verified e-mail address in one of these domains may sign in. Empty: any domain.',
    'a list of domains',
  ),
})

export const CustomProvider = Type.Object({
  ...idAndName,
  issuer: Type.Optional(
    BaseUrl({
      description:
        'Issuer of an OpenID Connect provider. Its addresses are discovered. Without an issuer the three addresses are required.',
    }),
  ),
  authorizationUrl: Type.Optional(HttpUrl({ description: 'Address to which the browser is sent, without an issuer.' })),
  tokenUrl: Type.Optional(
    HttpUrl({ description: 'Address at which a code is exchanged for tokens, without an issuer.' }),
  ),
  userInfoUrl: Type.Optional(HttpUrl({ description: 'Address from which the profile is read, without an issuer.' })),
  ...credentials,
  scopes: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Scopes to ask for: a list, or a text with spaces.',
    default: defaultScopes,
    expects: 'a list of scopes, or a text with spaces',
  }),
  ...directory({
    email: '`email`',
    userName: '`preferred_username`',
    displayName: '`name`',
    language: '`locale`',
    groups: '`groups`',
    roles: '`roles`',
  }),
  trustEmail: Type.Optional(
    Switch({
      description:
        'With an issuer: also trust e-mail addresses that the provider does not mark as verified. Default: `false`.',
    }),
  ),
})

const isCertificate = (text: string) => {
  try {
    return new X509Certificate(text) !== undefined
  } catch {
    return false
  }
}

const SamlProvider = Type.Object({
  ...idAndName,
  metadata: Type.Optional(
    Type.Refine(
      Text({
        description: 'XML metadata of the provider. It sets the next three keys.',
        expects: 'XML metadata with an entity id, a sign-on address for HTTP-Redirect and a signing certificate',
      }),
      (xml) => readSamlMetadata(xml) !== undefined,
    ),
  ),
  entryPoint: Type.Optional(
    HttpUrl({
      description: 'Address to which the browser is sent to sign in (binding HTTP-Redirect), without metadata.',
    }),
  ),
  certificates: Type.Optional(
    Type.Array(Type.Refine(Type.String(), isCertificate), {
      minItems: 1,
      description: 'Certificates of the keys that may sign, in PEM, without metadata.',
      expects: 'a list of X.509 certificates in PEM',
    }),
  ),
  idpIssuer: Type.Optional(Text({ description: 'Entity id of the provider, without metadata.' })),
  entityId: Text({
    description: 'Entity id of this server, which is the audience of assertions.',
    derived: '<auth.appUrl>/auth/saml/<id>/metadata',
  }),
  ...directory({
    email: '`email`, `mail` or their usual URIs, else the `NameID` of the format `emailAddress`',
    userName: '`userName`, `uid` or the part of the address before the @',
    displayName: '`displayName`, `cn` or their usual URIs',
    language: '`preferredLanguage`, `locale` or the usual URI of the former',
    groups: '`groups` or its usual URI',
    roles: '`roles` or its usual URI',
  }),
})

export const Saml = Type.Array(SamlProvider, {
  description: 'SAML 2.0 providers; in a variable or flag as JSON.',
  default: [],
  expects: 'a list of providers (in a variable or flag as JSON)',
})
