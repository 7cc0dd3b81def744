import { type Config, isLoopbackHost } from '@parley/config'
import type { JobData } from '@parley/contract'
import { createTransport } from 'nodemailer'
import { writeMail } from './mail.files.ts'

export type Mail = JobData<'send-mail'>

export interface Postman {
  /** Resolves when the mail was accepted by the SMTP server, or lies in its file. @throws when it was not. */
  send(mail: Mail): Promise<void>
  close(): void
}

type MailSettings = Pick<Config, 'email' | 'auth' | 'dataDir'>

/** Sends by SMTP when a server is configured; else puts each mail into a file, where whoever runs Parley finds it. */
export function createPostman({ email, auth, dataDir }: MailSettings): Postman {
  const from = { name: 'Parley', address: senderAddress(email.user, auth.appUrl) }
  if (!email.host) return { send: (mail) => writeMail(dataDir, { from, ...mail }), close() {} }

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
    async send({ to, subject, text, html }) {
      await transport.sendMail({ from, to, subject, text, html })
    },
    close: () => transport.close(),
  }
}

/** The account that sends, when it is an address; else an address of the application's own host. */
function senderAddress(user: string | undefined, appUrl: string): string {
  return user?.includes('@') ? user : `parley@${new URL(appUrl).hostname}`
}
