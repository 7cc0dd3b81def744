import { domainOf } from '@parley/accounts'

/** The largest number of mails that a process sends to one domain at the same time, so that a slow domain does not delay the others. */
export const maxMailsOfDomain = 4
/** A mail whose domain is busy waits for this time. */
const askAgainMs = 500
/** The time between two mails of a busy domain, so that they do not all try again at once. */
const apartMs = 20

interface Domains {
  /** 0 when a mail to this address may be sent now, else the milliseconds after which to call it again. */
  waitMs(address: string): number
  /** Runs `send` and counts a mail to this address meanwhile. */
  during<T>(address: string, send: () => Promise<T>): Promise<T>
}

/** Limits the mails that a process sends to one domain at the same time. */
export function createDomains(now: () => number = Date.now): Domains {
  const busy = new Map<string, { sending: number; lastAsksAt: number }>()
  return {
    waitMs(address) {
      const domain = busy.get(domainOf(address))
      if (!domain || domain.sending < maxMailsOfDomain) return 0
      domain.lastAsksAt = Math.max(now() + askAgainMs, domain.lastAsksAt + apartMs)
      return domain.lastAsksAt - now()
    },
    async during(address, send) {
      const name = domainOf(address)
      const domain = busy.get(name) ?? { sending: 0, lastAsksAt: 0 }
      busy.set(name, domain)
      domain.sending++
      try {
        return await send()
      } finally {
        domain.sending--
        if (domain.sending === 0) busy.delete(name)
      }
    },
  }
}
