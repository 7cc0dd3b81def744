import { describe, expect, test } from 'vitest'
import { domainOf, readEmail, readKnownEmail, spellingsOf } from './emails.ts'

const refusal = expect.objectContaining({ status: 400 })

test.each([
  ['ann@Łódź.pl', 'xn--d-uga0v4h.pl'],
  ['ann@xn--d-uga0v4h.PL', 'xn--d-uga0v4h.pl'],
  ['ann@Example.com', 'example.com'],
  ['ann@localhost', 'localhost'],
])('the domain of %j is compared as %j', (email, domain) => expect(domainOf(email)).toBe(domain))

describe('an e-mail address', () => {
  test.each([
    ['  Ann@Example.COM ', 'ann@example.com'],
    ['ann@localhost', 'ann@localhost'],
    ["o'hara+chat/x=1@mail-1.example.co.uk", "o'hara+chat/x=1@mail-1.example.co.uk"],
    ['Żaneta@łódź.pl', 'żaneta@łódź.pl'],
    ['ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example'],
    ['用户@例え.jp', '用户@例え.jp'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('%j is stored as %j', (text, stored) => expect(readEmail(text)).toBe(stored))

  const unusable = [
    ['a letter that NFKC changes', 'ᵃdmin@example.com'],
    ['wide letters', 'ａｄｍｉｎ@example.com'],
    ['the Kelvin sign', 'mar\u212A@example.com'],
    ['a letter with its accent apart', 'andre\u0301@example.com'],
    ['a domain that NFKC changes', 'admin@exampl\u212F.com'],
    ['a wide @', 'admin＠example.com'],
    ['what is no address', 'ann'],
    ['two of @', 'a@b@example.com'],
    ['a mail header', 'x<ann@example.com>'],
  ] as const
  const unusual = [
    ['two dots in the domain', 'a@example..com'],
    ['a dot before the domain', 'a@.example.com'],
    ['a dot at the end', 'a@example.com.'],
    ['another full stop, which is read as a dot', 'admin@example\u3002com'],
    ['a hyphen at the end of a label', 'a@example-.com'],
    ['an underscore in the domain', 'a@exam_ple.com'],
    ['an address literal', 'a@[127.0.0.1]'],
    ['an address of IP', 'a@127.0.0.1'],
    ['the same in another spelling', 'a@0x7f.1'],
    ['an encoded word', '=?utf-8?q?admin?=@example.com'],
    ['an encoded word as domain', 'a@=?utf-8?q?example.com?='],
    ['a local part over 64 bytes', `${'a'.repeat(65)}@example.com`],
    ['a local part over 64 bytes in fewer characters', `${'ż'.repeat(33)}@example.com`],
    ['two dots in the local part', 'a..b@example.com'],
    ['a dot at the beginning', '.a@example.com'],
    ['a variation selector', 'a\uFE0F@example.com'],
    ['square brackets', 'a[b]@example.com'],
  ] as const

  test.each([...unusable, ...unusual])('%s is refused', (_, text) => expect(() => readEmail(text)).toThrow(refusal))

  test.each(unusable)('%s is refused at sign-in too', (_, text) => expect(() => readKnownEmail(text)).toThrow(refusal))

  test.each([
    ['żaneta@łódź.pl', 'żaneta@xn--d-uga0v4h.pl'],
    ['żaneta@xn--d-uga0v4h.pl', 'żaneta@łódź.pl'],
    ['ann@mail.bücher.example', 'ann@mail.xn--bcher-kva.example'],
  ])('%s is also spelled %s', (email, other) => expect(spellingsOf(email)).toEqual([email, other]))

  test.each(['ann@example.com', 'ann@localhost', 'a@127.1', 'a@example..com', 'ann@xn--.example'])(
    '%s has one spelling',
    (email) => expect(spellingsOf(email)).toEqual([email]),
  )

  test('an account from before a rule can still be entered', () => {
    for (const stored of ['a@example..com', `${'a'.repeat(65)}@example.com`]) {
      expect(readKnownEmail(` ${stored.toUpperCase()}`)).toBe(stored)
    }
  })
})
