import { isIP } from 'node:net'
import { type TSchemaOptions, Type } from 'typebox'
import { parseDatabaseUrl } from './database-address.ts'

/**
 * The kinds of values that several keys share. Beside the keywords of JSON Schema a schema may have `expects` (the
 * accepted values in words, for fault messages and the reference), `derived` (how the value is derived when it is not
 * set), `usual` (a second variable, with the name that is usual elsewhere) and `flag`.
 */
interface About extends TSchemaOptions {
  description: string
  default?: unknown
  usual?: string
}

const parsesAsUrl = (value: string, protocols: string[]) =>
  URL.canParse(value) && protocols.includes(new URL(value).protocol)

export const Text = (about: About & { minLength?: number; maxLength?: number; pattern?: string; expects?: string }) =>
  Type.String({ minLength: 1, ...about })

export const WholeNumber = (minimum: number, maximum: number, about: About) =>
  Type.Integer({ minimum, maximum, ...about })

export const Switch = (about: About) => Type.Boolean(about)

export const UrlOf = (protocols: string[], about: About) =>
  Type.Refine(
    Type.String({ expects: `a URL that starts with ${protocols.map((name) => `${name}//`).join(' or ')}`, ...about }),
    (value) => parsesAsUrl(value, protocols),
  )

/** `new URL` cannot parse several hosts. */
export const DatabaseUrl = (about: About) =>
  Type.Refine(
    Type.String({
      expects: 'a URL that starts with postgresql:// or postgres://; several hosts are separated by commas',
      ...about,
    }),
    (value) => parseDatabaseUrl(value) !== undefined,
  )

export const HttpUrl = (about: About) => UrlOf(['http:', 'https:'], about)

/** A URL to which paths and queries are appended. */
export const BaseUrl = (about: About) =>
  Type.Refine(
    Type.String({ expects: 'a URL that starts with http:// or https:// and has no query and no fragment', ...about }),
    (value) => parsesAsUrl(value, ['http:', 'https:']) && !/[?#]/.test(value),
  )

export const HttpUrls = (about: About) =>
  Type.Array(
    Type.Refine(Type.String(), (value) => parsesAsUrl(value, ['http:', 'https:'])),
    { expects: 'a list of http:// or https:// URLs', ...about },
  )

export const Origins = (about: About) =>
  Type.Array(
    Type.Refine(Type.String(), (value) => parsesAsUrl(value, ['http:', 'https:']) && new URL(value).origin === value),
    { expects: 'a list of origins such as https://chat.example.com, without a path or a slash at the end', ...about },
  )

/** The port is required, because Sentinels, clusters and servers have different usual ports. */
export const Addresses = (about: About) =>
  Type.Array(Type.Refine(Type.String(), isAddress), {
    minItems: 1,
    expects: 'a list of addresses with a port, such as 10.0.0.1:6379',
    ...about,
  })

function isAddress(value: string): boolean {
  const [, , port] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(value) ?? []
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535
}

export const Networks = (about: About) =>
  Type.Array(Type.Refine(Type.String(), isNetwork), {
    expects: 'a list of IP addresses or CIDR ranges such as 10.0.0.0/8',
    ...about,
  })

function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}
