import { type Static, Type } from 'typebox'
import { DatabaseSettings, RedisSettings, Storage } from './data.schema.ts'
import { Saml } from './providers.schema.ts'
import {
  Events,
  Exports,
  Gateway,
  Integrations,
  Jobs,
  Log,
  Messages,
  Metrics,
  RateLimit,
  Server,
  Uploads,
  Webhooks,
} from './server.schema.ts'
import { Auth, Chat, Email, Oauth, Scim } from './sign-in.schema.ts'
import { Text } from './values.schema.ts'

/** All keys. Parsing, validation and the generated reference use this schema. */
export const ConfigSchema = Type.Object({
  environment: Type.Enum(['production', 'development', 'test'], {
    description: 'What kind of installation this is.',
    default: 'development',
    usual: 'NODE_ENV',
  }),
  dataDir: Text({ description: 'Folder for local data; relative to the working directory.', default: '.data' }),
  log: Log,
  server: Server,
  auth: Auth,
  email: Email,
  oauth: Oauth,
  saml: Saml,
  scim: Scim,
  chat: Chat,
  database: DatabaseSettings,
  redis: RedisSettings,
  storage: Storage,
  rateLimit: RateLimit,
  webhooks: Webhooks,
  integrations: Integrations,
  messages: Messages,
  uploads: Uploads,
  events: Events,
  jobs: Jobs,
  exports: Exports,
  gateway: Gateway,
  metrics: Metrics,
})

/** The whole configuration, complete and frozen. Relative folders are resolved, derived keys are filled in. */
export type Config = DeepReadonly<Static<typeof ConfigSchema>>

/** A part of the configuration: any branch or leaf may be missing, but a list is always complete. */
export type DeepPartial<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly unknown[]
    ? T
    : T extends object
      ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
      : T

type DeepReadonly<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T
