import { domainToASCII, domainToUnicode } from 'node:url'
import { invalid, lengthOf, limits } from '@parley/contract'

/**
 * Reads the e-mail address of a new person, and returns it as it is stored and compared: trimmed and in lower case. Two
 * people must never have the same address in two spellings. So every form is refused that a mail server or a name
 * server may read as another address: characters that change under NFKC, address literals, encoded words, a domain that
 * is not in its normal spelling. `ann@localhost` is an address, and so is `żaneta@łódź.pl`, which is stored as it is
 * written. `spellingsOf` returns its other spelling.
 * @throws ApiError 400 when it is not such an address.
 */
export function readEmail(text: string): string {
  const email = readKnownEmail(text)
  const at = email.indexOf('@')
  if (!isLocalPart(email.slice(0, at)) || !isDomain(email.slice(at + 1))) throw noAddress()
  return email
}

/**
 * Reads the address of somebody who signs in. It refuses less than `readEmail`, so that accounts that are older than a
 * rule can still be used. @throws ApiError 400 when no stored address can have this form.
 */
export function readKnownEmail(text: string): string {
  const written = text.trim()
  const email = written.toLowerCase()
  if (lengthOf(email) > limits.email || !form.test(email)) throw noAddress()
  // If such characters were replaced silently, `ᵃdmin@example.com`, which a provider may have verified, would sign in
  // as `admin@example.com`.
  if (written.normalize('NFKC') !== written) {
    throw invalid('email must be an e-mail address without characters that stand for other ones, such as ᵃ for a')
  }
  return email
}

/**
 * The spellings of one address, the given one first. A domain with characters beyond ASCII also has an ASCII form
 * (`xn--…`). Accounts are found by each spelling, and nobody gets a second account by another spelling.
 */
export function spellingsOf(email: string): [string, ...string[]] {
  const at = email.lastIndexOf('@') + 1
  const [local, domain] = [email.slice(0, at), email.slice(at)]
  const ascii = domainToASCII(domain)
  // Only a domain with such a label has two forms. Other domains would be changed by the conversion, for instance
  // numbers to IP addresses.
  if (!ascii.split('.').some((each) => each.startsWith('xn--'))) return [email]
  const other = ascii === domain ? domainToUnicode(domain) : ascii
  return other === '' || other === domain ? [email] : [email, local + other]
}

/** The domain of an address, for comparisons: in its ASCII form, in lower case. */
export function domainOf(email: string): string {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  return asciiOf(domain)
}

/** The ASCII form of a domain, in lower case. Both spellings of one domain have the same. */
export const asciiOf = (domain: string): string => domainToASCII(domain) || domain.toLowerCase()

/** The spelling by which attempts and mails of an address are counted, because all spellings lead to one account and one mailbox. */
export const countedSpelling = (email: string): string => email.slice(0, email.lastIndexOf('@') + 1) + domainOf(email)

const noAddress = () => invalid('email must be an e-mail address')

// One @ with text on both sides, without white space, control or format characters, and without characters that have a
// meaning in the header of a mail (RFC 5322, 3.2.3): `x<ann@localhost>` would also reach Ann, and each such spelling
// would have its own limit of mails.
const form = /^[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+@[^@\s\p{Cc}\p{Cf}\p{Cs}<>(),:;"\\]+$/u

// One of the words between the dots (RFC 5321, 4.1.2), in any script (RFC 6531), without invisible characters.
const words = /^[\w!#$%\&'*+\/=?^`\{\|\}~\-[[\p{L}\p{M}\p{N}\p{P}\p{S}]--[\p{ASCII}\p{DI}]]]+$/v
const longestLocalPart = 64

/** `=?utf-8?q?ann?=` is an encoded word (RFC 2047), which a mail program may decode to another name. */
const isLocalPart = (local: string) =>
  Buffer.byteLength(local) <= longestLocalPart &&
  !local.startsWith('=?') &&
  local.split('.').every((word) => words.test(word))

const label = /^(?!-)[\p{L}\p{M}\p{N}-]{1,63}(?<!-)$/u

/**
 * Whether it is a domain name in its normal spelling, in Unicode or ASCII form. With a number at the end it would be an
 * IP address.
 */
function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  const ascii = domainToASCII(domain)
  const isOneSpelling = ascii !== '' && (ascii === domain || domainToUnicode(domain) === domain)
  return isOneSpelling && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1)!)
}
