import { Type } from 'typebox'
import { CustomProvider, credentials } from './providers.schema.ts'
import { BaseUrl, Switch, Text, WholeNumber } from './values.schema.ts'

/** Builds one version of the magic-link e-mail. */
type MailTemplate = (magicLink: string, expiryMinutes: number) => string

const Template = (description: string) =>
  Type.Refine(
    Type.Unsafe<MailTemplate>({ kind: 'function', description, expects: 'a function, in a .js, .mjs or .ts file' }),
    (value: unknown) => typeof value === 'function',
  )

/** A list that is not valid JSON would count as one secret, and everybody would have to sign in again. */
const Secret = Type.Refine(Type.String({ minLength: 32 }), (text) => !/^\s*\["/.test(text) || isJson(text))

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export const Auth = Type.Object({
  authMode: Type.Enum(['dev', 'magic-link', 'password'], {
    description: 'How people sign in. `dev` asks only for an e-mail address: it is for private local testing.',
    default: 'dev',
  }),
  jwtSecret: Type.Union([Secret, Type.Array(Secret, { minItems: 1 })], {
    description:
      'Secret that signs tokens. With several secrets, the first one signs, and tokens of all are accepted. A list is written as JSON.',
    expects: 'a text of at least 32 characters, or a list of such texts (in a variable or flag as JSON)',
  }),
  jwtKeys: Type.Array(Type.String({ minLength: 1 }), {
    description:
      'PEM files with private keys, Ed25519 or P-256, for the auth service only. It signs access tokens with the first key, and accepts tokens ' +
      'of all. Without them, `auth.jwtSecret` signs.',
    default: [],
    expects: 'a list of files',
  }),
  jwtPublicKeys: Type.Array(Type.String({ minLength: 1 }), {
    description: 'PEM files with the public keys of `auth.jwtKeys`, for the services other than auth.',
    default: [],
    expects: 'a list of files',
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
    description: 'Sessions that a person may have at the same time; one more ends the oldest.',
    default: 3,
  }),
  sessionMaxDays: WholeNumber(1, 3_650, {
    description: 'Days after which a session ends, however often it was refreshed.',
    default: 90,
  }),
  mfa: Type.Enum(['off', 'optional', 'required'], {
    description:
      'Second factors. `required`: people who sign in by password, magic link or dev mode must set one up before they can do anything else. ' +
      '`off`: none can be set up, and none is asked for.',
    default: 'optional',
  }),
  registrationsPerNetwork: WholeNumber(1, 1000, {
    description: 'Registrations from one network (IPv4 address, or /64 of IPv6) in 15 minutes, also failed ones.',
    default: 30,
  }),
  allowPublicDevMode: Switch({
    description: 'Allow `dev` sign-in in production or on a public address: everybody who reaches it can sign in.',
    default: false,
  }),
  templates: Type.Object({
    textVersion: Type.Optional(Template('`(magicLink, expiryMinutes)` to the text of the magic-link e-mail.')),
    htmlVersion: Type.Optional(Template('`(magicLink, expiryMinutes)` to the HTML of the magic-link e-mail.')),
  }),
})

export const Email = Type.Object({
  emailSubject: Type.Optional(
    Text({
      description: 'Subject of the magic-link e-mail. Default: `Your sign-in link`, in the language of the mail.',
    }),
  ),
  language: Type.Enum(['en', 'de', 'ar'], {
    description:
      'Language of invitations, and of mails to people whose language is not known. It is known as soon as they have signed in with a browser.',
    default: 'en',
  }),
  host: Type.Optional(Text({ description: 'SMTP server. Without it no e-mail is sent.' })),
  port: WholeNumber(1, 65_535, { description: 'SMTP port.', default: 587 }),
  secure: Switch({ description: 'TLS from the start; `false` means STARTTLS when offered.', default: false }),
  user: Type.Optional(Text({ description: 'SMTP user.' })),
  password: Type.Optional(Text({ description: 'SMTP password.' })),
  perNetwork: WholeNumber(1, 10_000, {
    description: 'Mails for which people of one network (IPv4 address, or /64 of IPv6) may ask in 15 minutes.',
    default: 30,
  }),
  perServer: WholeNumber(1, 10_000, {
    description:
      'Mails in 15 minutes for people who ask without having signed in, on the whole server. Invitations do not count.',
    default: 1_000,
  }),
  maxRetries: WholeNumber(0, 100, {
    description: 'Repeated attempts for one e-mail: after 15 seconds, 1, 4, 16 and 64 minutes, then every 4 hours.',
    default: 5,
  }),
  missedMessages: Type.Object({
    afterSeconds: WholeNumber(0, 86_400, {
      description:
        'A person without an open client gets a mail about unread direct messages and mentions after this time, and then at most one mail ' +
        'in this time. 0: no such mails.',
      default: 900,
    }),
    showText: Switch({
      description: 'Whether these mails contain the messages. Otherwise they only say who has written where.',
      default: true,
    }),
  }),
})

const Preset = Type.Optional(Type.Object(credentials))

export const Oauth = Type.Object({
  attemptsPerNetwork: WholeNumber(1, 1_000_000, {
    description:
      'Sign-ins through providers that one network (IPv4 address, or /64 of IPv6) may begin in 15 minutes. An office behind one ' +
      'address needs a number above the sign-ins of its people in that time.',
    default: 10,
  }),
  presets: Type.Object({
    google: Preset,
    microsoft: Type.Optional(
      Type.Object({
        ...credentials,
        tenant: Type.Optional(Text({ description: 'Microsoft tenant whose people may sign in. Default: any.' })),
      }),
    ),
    github: Preset,
    gitlab: Preset,
  }),
  custom: Type.Array(CustomProvider, {
    description: 'Further OAuth 2.0 and OpenID Connect providers; in a variable or flag as JSON.',
    default: [],
    expects: 'a list of providers (in a variable or flag as JSON)',
  }),
})

export const Scim = Type.Object({
  adminGroups: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
    description:
      'Names of groups of a SCIM directory whose members are admins. Somebody who leaves all of them is no longer an admin, unless an ' +
      'admin appointed them.',
    default: [],
    expects: 'a list of names of groups',
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
      'Names of public channels that new people join, beside General. A name without such a channel is skipped.',
    default: [],
    expects: 'a list of names of channels',
  }),
  linkPreviews: Switch({
    description:
      'The worker fetches the pages behind links in messages. Title, description and image of a page are shown below the message. The operator of ' +
      'the site can see the request of this server.',
    default: true,
  }),
})
