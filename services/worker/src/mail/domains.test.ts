import { expect, test } from 'vitest'
import { createDomains, maxMailsOfDomain } from './domains.ts'

test('a domain has a limited number of mails in progress, and the others wait in turn', async () => {
  const domains = createDomains(() => 1_000)
  const gate = Promise.withResolvers<void>()
  const sending = Array.from({ length: maxMailsOfDomain }, (_, n) =>
    domains.during(`${n}@Slow.example`, () => gate.promise),
  )
  expect([1, 2, 3].map(() => domains.waitMs('a@slow.example'))).toEqual([500, 520, 540])
  expect(domains.waitMs('a@fast.example')).toBe(0)
  gate.resolve()
  await Promise.all(sending)
  expect(domains.waitMs('a@slow.example')).toBe(0)
})

test('the Unicode and the ASCII form of a domain are one domain', async () => {
  const domains = createDomains(() => 1_000)
  const gate = Promise.withResolvers<void>()
  const sending = ['łódź.pl', 'xn--d-uga0v4h.pl', 'ŁÓDŹ.pl', 'XN--d-uga0v4h.pl'].map((domain) =>
    domains.during(`ann@${domain}`, () => gate.promise),
  )
  expect(domains.waitMs('ann@łódź.pl')).toBe(500)
  gate.resolve()
  await Promise.all(sending)
})

test('a mail that fails is under way no longer', async () => {
  const domains = createDomains()
  for (let n = 0; n < 10; n++) {
    expect(domains.waitMs('a@example.com')).toBe(0)
    await domains.during('a@example.com', () => Promise.reject(new Error('refused'))).catch(() => {})
  }
})
