import { domainToASCII, domainToUnicode } from 'node:url'
import { invalid, lengthOf, limits } from '@parley/contract'

/**
 * An e-mail address that somebody may be added, invited or created with, as it is stored and compared: trimmed and lower-case.
 * Two people must never share one under two spellings, so whatever a mail server or a name server reads as another address is
 * refused: characters that change under NFKC, address literals, encoded words, a domain in another spelling than its own.
 * `ann@localhost` is an address, and so is `żaneta@łódź.pl`. It is stored as it is written; `spellingsOf` has its other spelling.
 * @throws ApiError 400 when it is no such address.
 */
export function readEmail(text: string): string {
  const email = readKnownEmail(text)
  const at = email.indexOf('@')
  if (!isLocalPart(email.slice(0, at)) || !isDomain(email.slice(at + 1))) throw noAddress()
  return email
}

/**
 * The address of somebody who signs in. Refuses less than `readEmail`, so that accounts from before one of its rules can still be
 * used. @throws ApiError 400 when no stored address can have this form.
 */
export function readKnownEmail(text: string): string {
  const written = text.trim()
  const email = written.toLowerCase()
  if (lengthOf(email) > limits.email || !form.test(email)) throw noAddress()
  // With silent folding, `ᵃdmin@example.com`, which a provider may have verified, would sign in as `admin@example.com`.
  if (written.normalize('NFKC') !== written) {
    throw invalid('email must be an e-mail address without characters that stand for other ones, such as ᵃ for a')
  }
  return email
}

/**
 * The spellings of one address, the given one first: a domain beyond ASCII has an ASCII form too (`xn--…`). Accounts are found by each
 * of them, and nobody gets a second one.
 */
export function spellingsOf(email: string): [string, ...string[]] {
  const at = email.lastIndexOf('@') + 1
  const [local, domain] = [email.slice(0, at), email.slice(at)]
  const ascii = domainToASCII(domain)
  // Only a domain with such a label has two forms; other domains would come back changed, such as numbers as addresses.
  if (!ascii.split('.').some((each) => each.startsWith('xn--'))) return [email]
  const other = ascii === domain ? domainToUnicode(domain) : ascii
  return other === '' || other === domain ? [email] : [email, local + other]
}

const noAddress = () => invalid('email must be an e-mail address')

// No white space, no control or format characters, one @ with something on either side. Nor what has a meaning in the header
// of a mail (RFC 5322, 3.2.3): `x<ann@localhost>` is Ann's box as well, and each spelling would be sent five mails.
const form = /^[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+@[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+$/u

// Words with dots between them (RFC 5321, 4.1.2), in any script (RFC 6531), without what is not drawn.
const words = /^[\w!#$%\&'*+\/=?^`\{\|\}~\-[[\p{L}\p{M}\p{N}\p{P}\p{S}]--[\p{ASCII}\p{DI}]]]+$/v
const longestLocalPart = 64

/** `=?utf-8?q?ann?=` is an encoded word (RFC 2047): a mail program may read another name in it. */
const isLocalPart = (local: string) =>
  Buffer.byteLength(local) <= longestLocalPart &&
  !local.startsWith('=?') &&
  local.split('.').every((word) => words.test(word))

const label = /^(?!-)[\p{L}\p{M}\p{N}-]{1,63}(?<!-)$/u

/** A domain name in its normal spelling, as Unicode or in ASCII form. With a number at the end it would be an IP address. */
function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  const ascii = domainToASCII(domain)
  const isOneSpelling = ascii !== '' && (ascii === domain || domainToUnicode(domain) === domain)
  return isOneSpelling && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1)!)
}
