import { Type } from 'typebox'
import { invalid } from './errors.ts'

/** An address that this server calls. */
export const ReceiverUrl = Type.String({
  maxLength: 2_000,
  description: 'http or https; not an address of an internal network',
})

/**
 * Checks such an address, and returns it as it is stored. @throws ApiError 400 unless it is http or https, without a
 * user name or password.
 */
export function readReceiverUrl(text: string, field = 'url'): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(`${field} must begin with http:// or https://`)
  if (url.username !== '' || url.password !== '') throw invalid(`${field} must not have a user name or password`)
  return url.href
}
