import { Type } from 'typebox'
import { invalid } from './errors.ts'

/** An address that this server calls. */
export const ReceiverUrl = Type.String({
  maxLength: 2_000,
  description: 'http or https; not an address of an internal network',
})

interface ReceiverOptions {
  /** Whether this server does not call the address. */
  isForbidden: (url: string) => boolean
  field?: string
}

/**
 * Checks such an address, and returns it as it is stored. @throws ApiError 400 unless it is http or https, without a
 * user name or password, and not an address of an internal network.
 */
export function readReceiverUrl(text: string, { isForbidden, field = 'url' }: ReceiverOptions): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(`${field} must begin with http:// or https://`)
  if (url.username !== '' || url.password !== '') throw invalid(`${field} must not have a user name or password`)
  if (isForbidden(url.href)) {
    throw invalid(
      `${field} must not be an address of an internal network. An operator can allow it with integrations.allowedNetworks`,
    )
  }
  return url.href
}
