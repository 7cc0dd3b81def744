import { type Config, isLoopbackHost } from '@parley/config'
import { createTransport } from 'nodemailer'
import { type Mail, recipient, writeMail } from './mail.files.ts'

export interface Postman {
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
    return { send: (mail, id) => writeMail(dataDir, { from, messageId: messageId(id), ...mail }), close() {} }
  }

  const transport = createTransport({
    pool: true,
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
  return {
    async send({ to, subject, text, html }, id) {
      await transport
        .sendMail({ from, to: recipient(to), subject, text, html, messageId: messageId(id) })
        .catch((error) => {
          throw withoutAddresses(error)
        })
    },
    close: () => transport.close(),
  }
}

/** SMTP servers quote addresses in their refusals, and refusals are logged. */
function withoutAddresses({ message, code }: Error & { code?: string }): Error {
  return Object.assign(new Error(message.replace(/[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g, '[address]')), { code })
}

/** The account that sends, when it is an address; else an address of the application's own host. */
function senderAddress(user: string | undefined, appUrl: string): string {
  return user?.includes('@') ? user : `parley@${new URL(appUrl).hostname}`
}
