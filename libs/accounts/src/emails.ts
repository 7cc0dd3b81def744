import { domainToASCII, domainToUnicode } from 'node:url'
import { invalid, lengthOf, limits } from '@parley/contract'

/**
 * An e-mail address that somebody may be added, invited or created with, as it is stored and compared: trimmed and lower-case.
 * Two people must never share one under two spellings, so whatever a mail server or a name server reads as another address is
 * refused: characters that change under NFKC, address literals, encoded words, a domain in another spelling than its own.
 * `ann@localhost` is an address, and so is `żaneta@łódź.pl`. The ASCII form of such a domain counts as another address.
 * @throws ApiError 400 when it is no such address.
 */
export function readEmail(text: string): string {
  const email = readKnownEmail(text)
  const at = email.indexOf('@')
  if (!isLocalPart(email.slice(0, at)) || !isDomain(email.slice(at + 1))) throw noAddress()
  return email
}

/**
 * The address of somebody who signs in. Only what no stored address ever had is refused: accounts from the time before a rule of
 * `readEmail` can still be entered. @throws ApiError 400 when nobody can have it.
 */
export function readKnownEmail(text: string): string {
  const written = text.trim()
  const email = written.toLowerCase()
  if (lengthOf(email) > limits.email || !form.test(email)) throw noAddress()
  // Folded silently, `ᵃdmin@example.com`, which a provider may have verified, would be the account of `admin@example.com`.
  if (written.normalize('NFKC') !== written) {
    throw invalid('email must be an e-mail address without characters that stand for other ones, such as ᵃ for a')
  }
  return email
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

/** A name of hosts in its one spelling, as text or in the ASCII form of it. A number at its end would be an IP address. */
function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  const ascii = domainToASCII(domain)
  const isOneSpelling = ascii !== '' && (ascii === domain || domainToUnicode(domain) === domain)
  return isOneSpelling && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1)!)
}
