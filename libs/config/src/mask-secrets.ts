import { isTree } from './layers.ts'

/** A copy of a configuration that may be printed: secrets and passwords in URLs are `***`, functions are `[function]`. */
export function maskSecrets(value: unknown, name = ''): unknown {
  if (value === undefined || value === null) return value
  if (typeof value === 'function') return '[function]'
  if (/password$|secret$|secretAccessKey$/i.test(name)) return '***'
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, name))
  if (isTree(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskSecrets(item, key)]))
  return typeof value === 'string' ? maskUrl(value) : value
}

function maskUrl(text: string): string {
  if (/^postgres(ql)?:/i.test(text)) return maskDatabaseUrl(text)
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  const isInQuery = url.searchParams.has('password')
  if (url.password === '' && !isInQuery) return text
  if (url.password !== '') url.password = '***'
  if (isInQuery) url.searchParams.set('password', '***')
  return url.href
}

/** A database URL may name several hosts, and `URL` cannot parse such a list. */
const maskDatabaseUrl = (text: string) =>
  text.replace(/^(\w+:\/\/[^/?#:]*):[^/?#]*@/, '$1:***@').replace(/([?&]password=)[^&#]*/gi, '$1***')
