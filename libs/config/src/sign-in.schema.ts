import { Type } from 'typebox'
import { BaseUrl, HttpUrl, Switch, Text, WholeNumber } from './values.schema.ts'

/** Builds one version of the magic-link e-mail. */
export type MailTemplate = (magicLink: string, expiryMinutes: number) => string

const Template = (description: string) =>
  Type.Refine(
    Type.Unsafe<MailTemplate>({ kind: 'function', description, expects: 'a function, in a .js, .mjs or .ts file' }),
    (value: unknown) => typeof value === 'function',
  )

const Secret = Type.String({ minLength: 32 })

export const Auth = Type.Object({
  authMode: Type.Enum(['dev', 'magic-link', 'password'], {
    description: 'How people sign in. `dev` asks for an e-mail address only: private local testing.',
    default: 'dev',
  }),
  jwtSecret: Type.Union([Secret, Type.Array(Secret, { minItems: 1 })], {
    description: 'Secret that signs tokens. Of several, the first signs and all verify. A list is written as JSON.',
    expects: 'a text of at least 32 characters, or a list of such texts',
  }),
  issuer: Text({ description: 'Issuer named in tokens (`iss`).', default: 'parley' }),
  appUrl: BaseUrl({
    description: 'Public address of the application, for links and redirects.',
    derived: 'http://<server.host>:<server.port>',
  }),
  isInviteRequired: Switch({ description: 'Only invited people may sign in.', default: true }),
  magicLinkExpirySeconds: WholeNumber(1, 86_400, { description: 'Lifetime of a magic link.', default: 900 }),
  jwtExpirySeconds: WholeNumber(1, 86_400, { description: 'Lifetime of an access token.', default: 900 }),
  refreshTokenExpirySeconds: WholeNumber(1, 31_536_000, {
    description: 'Lifetime of a refresh token.',
    default: 604_800,
  }),
  maxActiveSessions: WholeNumber(1, 1000, {
    description: 'Sessions a person may hold; one more ends the oldest.',
    default: 3,
  }),
  registrationsPerNetwork: WholeNumber(1, 1000, {
    description: 'Registrations from one network (IPv4 address, or /64 of IPv6) in 15 minutes, successful or not.',
    default: 30,
  }),
  allowPublicDevMode: Switch({
    description: 'Allow `dev` sign-in in production or on a public address: anyone who reaches it is let in.',
    default: false,
  }),
  templates: Type.Object({
    textVersion: Type.Optional(Template('`(magicLink, expiryMinutes)` to the text of the magic-link e-mail.')),
    htmlVersion: Type.Optional(Template('`(magicLink, expiryMinutes)` to the HTML of the magic-link e-mail.')),
  }),
})

export const Email = Type.Object({
  emailSubject: Text({ description: 'Subject of the magic-link e-mail.', default: 'Your sign-in link' }),
  host: Type.Optional(Text({ description: 'SMTP server. Without it no e-mail is sent.' })),
  port: WholeNumber(1, 65_535, { description: 'SMTP port.', default: 587 }),
  secure: Switch({ description: 'TLS from the start; `false` means STARTTLS when offered.', default: false }),
  user: Type.Optional(Text({ description: 'SMTP user.' })),
  password: Type.Optional(Text({ description: 'SMTP password.' })),
  perNetwork: WholeNumber(1, 10_000, {
    description: 'Mails that people of one network (IPv4 address, or /64 of IPv6) may ask for in 15 minutes.',
    default: 30,
  }),
  perServer: WholeNumber(1, 10_000, {
    description:
      'Mails in 15 minutes that people get who ask for them without having signed in. Invitations do not count.',
    default: 1_000,
  }),
  maxRetries: WholeNumber(0, 100, {
    description: 'Repeated attempts for one e-mail: after 15 seconds, 1, 4, 16 and 64 minutes, then every 4 hours.',
    default: 5,
  }),
})

const ProviderUrl = (description: string) => HttpUrl({ description })

const RedirectUri = HttpUrl({
  description: 'Callback address registered with the provider.',
  derived: '<auth.appUrl>/auth/oauth/<provider id>/callback',
})

const credentials = {
  clientId: Text({ description: 'Client id given by the provider.' }),
  clientSecret: Text({ description: 'Client secret given by the provider.' }),
  redirectUri: RedirectUri,
}

const Preset = Type.Optional(Type.Object(credentials))

/** What a custom provider is asked for when its entry names nothing. */
export const DEFAULT_SCOPES = ['openid', 'email', 'profile']

const CustomProvider = Type.Object({
  id: Text({
    description: 'Name of the provider in paths.',
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$',
    expects: 'letters, digits, `-` and `_`',
  }),
  name: Text({ description: 'Name people see.' }),
  authorizationUrl: ProviderUrl('Where the browser is sent.'),
  tokenUrl: ProviderUrl('Where a code is exchanged.'),
  userInfoUrl: ProviderUrl('Where the profile is read.'),
  ...credentials,
  scopes: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Scopes asked for: a list, or a text with spaces.',
    default: DEFAULT_SCOPES,
    expects: 'a list of scopes, or a text with spaces',
  }),
})

export const Oauth = Type.Object({
  attemptsPerNetwork: WholeNumber(1, 1_000_000, {
    description:
      'Sign-ins through providers that one client address (IPv6: its /64) may begin in 15 minutes. An office behind one ' +
      'address needs more than its people sign in within that time.',
    default: 10,
  }),
  presets: Type.Object({
    google: Preset,
    microsoft: Type.Optional(
      Type.Object({
        ...credentials,
        tenant: Type.Optional(Text({ description: 'Directory whose people may sign in. Default: any.' })),
      }),
    ),
    github: Preset,
    gitlab: Preset,
  }),
  custom: Type.Array(CustomProvider, {
    description: 'Further OAuth 2.0 providers; in a variable or flag as JSON.',
    default: [],
    expects: 'a list of providers (in a variable or flag as JSON)',
  }),
})

export const Chat = Type.Object({
  initialUser: Type.Object({
    userName: Text({ description: 'Display name of the initial admin.', default: 'admin', maxLength: 64 }),
    email: Text({
      description: 'E-mail address of the initial admin.',
      default: 'admin@example.com',
      pattern: '^[^@\\s]+@[^@\\s]+$',
      expects: 'an e-mail address',
    }),
    password: Type.Optional(
      Type.String({
        minLength: 8,
        description: 'Password of the initial admin, applied on the first start only.',
        usual: 'INITIAL_USER_PASSWORD',
        flag: 'initialUserPassword',
      }),
    ),
  }),
  autoJoin: Type.Array(Type.String({ minLength: 1, maxLength: 80 }), {
    description:
      'Names of public channels that new people join, beside General. A name without such a channel is passed over.',
    default: [],
    expects: 'a list of names of channels',
  }),
})
