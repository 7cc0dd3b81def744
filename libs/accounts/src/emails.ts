import { invalid, limits } from '@parley/contract'

/**
 * An e-mail address as it is stored and compared: trimmed and lower-case. Only its form is looked at, `ann@localhost`
 * is one too. @throws ApiError 400 when it cannot be an address.
 */
export function readEmail(text: string): string {
  const email = text.trim().normalize('NFKC').toLowerCase()
  if (email.length > limits.email || !form.test(email)) throw invalid('email is not an e-mail address')
  return email
}

// No white space, no control or format characters, one @ with something on either side. Nor what has a meaning in the header
// of a mail (RFC 5322, 3.2.3): `x<ann@localhost>` is Ann's box as well, and each spelling would be sent five mails.
const form = /^[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+@[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+$/u
