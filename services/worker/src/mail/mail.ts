import { type Config, isLoopbackHost } from '@parley/config'
import { createTransport } from 'nodemailer'
import { createDomains, mostMails } from './domains.ts'
import { type Mail, recipient, writeMail } from './mail.files.ts'

export interface Postman {
  /** The milliseconds after which to ask again whether this mail may be sent: 0 for now. */
  waitMs(mail: Mail): number
  /**
   * Resolves when the mail was accepted by the SMTP server, or lies in its file. `id` names it for good: sent again, it is
   * known by its Message-ID. @throws when it was not accepted.
   */
  send(mail: Mail, id: string): Promise<void>
  close(): void
}

type MailSettings = Pick<Config, 'email' | 'auth' | 'dataDir'>

/** Sends by SMTP when a server is configured; else puts each mail into a file, where whoever runs Parley finds it. */
export function createPostman({ email, auth, dataDir }: MailSettings): Postman {
  const from = { name: 'Parley', address: senderAddress(email.user, auth.appUrl) }
  const messageId = (id: string) => `<${id}@${new URL(auth.appUrl).hostname}>`
  if (!email.host) {
    return {
      waitMs: () => 0,
      send: (mail, id) => writeMail(dataDir, { from, messageId: messageId(id), ...mail }),
      close() {},
    }
  }

  const transport = createTransport({
    pool: true,
    maxConnections: mostMails,
    host: email.host,
    port: email.port,
    // Without TLS from the start it is STARTTLS when the server offers it.
    secure: email.secure,
    // A mail server on this machine usually has a certificate of its own making, and nobody in between to fear.
    tls: { rejectUnauthorized: !isLoopbackHost(email.host) },
    auth: email.user ? { user: email.user, pass: email.password ?? '' } : undefined,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
  })
  const domains = createDomains()
  return {
    waitMs: ({ to }) => domains.waitMs(to),
    async send({ to, subject, text, html }, id) {
      const mail = { from, to: recipient(to), subject, text, html, messageId: messageId(id) }
      await domains
        .during(to, () => transport.sendMail(mail))
        .catch((error) => {
          throw withoutAddresses(error)
        })
    },
    close: () => transport.close(),
  }
}

/**
 * The pause before a further attempt, counted from 1: 15 seconds, 1, 4, 16 and 64 minutes, then four hours; less up to a fifth at random.
 * The first ones are for a server that restarts and for greylisting, all five of them outlast an outage of an hour.
 */
export function retryMs(retry: number): number {
  const pause = Math.min(firstRetryMs * 4 ** (retry - 1), longestRetryMs)
  return Math.round(pause * (1 - Math.random() / 5))
}

const firstRetryMs = 15_000
const longestRetryMs = 4 * 60 * 60_000

/** SMTP servers quote addresses in their refusals, and refusals are logged. */
function withoutAddresses({ message, code }: Error & { code?: string }): Error {
  return Object.assign(new Error(message.replace(/[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g, '[address]')), { code })
}

/** The account that sends, when it is an address; else an address of the application's own host. */
function senderAddress(user: string | undefined, appUrl: string): string {
  return user?.includes('@') ? user : `parley@${new URL(appUrl).hostname}`
}
