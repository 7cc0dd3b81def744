/** Mails that one process sends at once, and as many connections to the SMTP server. */
export const mostMails = 10
/** Of those to one domain: however slowly it answers, the others go on. */
export const mostMailsOfDomain = 4
/** A mail whose domain is busy asks again after this time. */
const askAgainMs = 500
/** Of many that wait, one asks after the other. */
const apartMs = 20

export interface Domains {
  /** 0 when a mail to this address may be sent now; else the milliseconds after which to ask again. */
  waitMs(address: string): number
  /** Sends a mail, which counts for its domain meanwhile. */
  during<T>(address: string, send: () => Promise<T>): Promise<T>
}

/** Shares out the mails that a process sends at once among the domains that they go to. */
export function createDomains(now: () => number = Date.now): Domains {
  const busy = new Map<string, { sending: number; lastAsksAt: number }>()
  return {
    waitMs(address) {
      const domain = busy.get(domainOf(address))
      if (!domain || domain.sending < mostMailsOfDomain) return 0
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

const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1).toLowerCase()
