import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, isLoopbackHost } from '@parley/config'
import { uuidv7 } from '@parley/database'
import { createTransport } from 'nodemailer'
import { createDomains } from './domains.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  html?: string | undefined
  /** The page on which the person switches such mails off. */
  unsubscribeUrl?: string
}

/** Sends the mails of the jobs of one queue. */
export interface Mailer<Job> {
  /** 0 when the mail of this job may be sent now, else the milliseconds after which to call it again. */
  waitMs(job: Job): number
  /**
   * Resolves when the SMTP server has accepted the mail, or its file is written, or there is no mail any more. `id` becomes
   * its Message-ID, by which a repeated mail is recognised. @throws when it was not accepted.
   */
  send(job: Job, id: string): Promise<void>
  close(): void
}

type MailSettings = Pick<Config, 'email' | 'auth' | 'dataDir'>

/**
 * Sends mails by SMTP when a server is configured. Otherwise writes each mail to a file for the operator. `mailOf`
 * is called before each attempt. It returns undefined when the mail may not be sent any more.
 */
export function createMailer<Job extends { to: string }>(
  { email, auth, dataDir }: MailSettings,
  mailOf: (job: Job) => Promise<Mail | undefined>,
): Mailer<Job> {
  const from = { name: 'Parley', address: senderAddress(email.user, auth.appUrl) }
  const messageId = (id: string) => `<${id}@${new URL(auth.appUrl).hostname}>`
  if (!email.host) {
    return {
      waitMs: () => 0,
      async send(job, id) {
        const mail = await mailOf(job)
        if (mail) await writeMail(dataDir, id, { from, messageId: messageId(id), ...mail })
      },
      close() {},
    }
  }

  const transport = createTransport({
    pool: true,
    maxConnections: maxMails,
    host: email.host,
    port: email.port,
    // Without TLS from the start, STARTTLS is used when the server offers it.
    secure: email.secure,
    // A mail server on this machine usually has a self-signed certificate, and the connection cannot be intercepted.
    tls: { rejectUnauthorized: !isLoopbackHost(email.host) },
    auth: email.user ? { user: email.user, pass: email.password ?? '' } : undefined,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
  })
  const domains = createDomains()
  return {
    waitMs: ({ to }) => domains.waitMs(to),
    async send(job, id) {
      await domains.during(job.to, async () => {
        const mail = await mailOf(job)
        if (!mail) return
        const { to, subject, text, html, unsubscribeUrl } = mail
        const list = unsubscribeUrl === undefined ? undefined : { unsubscribe: unsubscribeUrl }
        const message = {
          from,
          to: recipient(to),
          subject: subjectOf(subject),
          text,
          html,
          messageId: messageId(id),
          headers,
          list,
        }
        await transport.sendMail(message).catch(rethrowWithoutAddresses)
      })
    },
    close: () => transport.close(),
  }
}

/**
 * The pause before a retry. Retries are counted from 1. The pauses are 15 seconds, 1, 4, 16 and 64 minutes, then four
 * hours, each minus up to a fifth at random. The first pauses are for a server that restarts and for greylisting. The
 * first five together are longer than an outage of an hour.
 */
export function retryMs(retry: number): number {
  const pause = Math.min(firstRetryMs * 4 ** (retry - 1), longestRetryMs)
  return Math.round(pause * (1 - Math.random() / 5))
}

const firstRetryMs = 15_000
const longestRetryMs = 4 * 60 * 60_000

/** Removes e-mail addresses from the message, because SMTP servers quote them in refusals, and refusals are logged. */
function rethrowWithoutAddresses({ message, code }: Error & { code?: string }): never {
  throw Object.assign(new Error(message.replace(/[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g, '[address]')), { code })
}

/** The SMTP user when it is an address, else an address of the application's host. */
function senderAddress(user: string | undefined, appUrl: string): string {
  return user?.includes('@') ? user : `parley@${new URL(appUrl).hostname}`
}

/** So that no mail program answers by itself (RFC 3834). */
const headers = { 'Auto-Submitted': 'auto-generated' }

/** An object, because a text would be parsed as a header with names, comments and several addresses. */
const recipient = (address: string) => ({ name: '', address })

/**
 * The subject as a header. Mail programs decode words such as `=?utf-8?q?Ada?=`, also in a name, which could then look like another one. So
 * a subject with such a word is encoded as a whole. The library would leave the word as it is.
 */
const subjectOf = (subject: string): string =>
  subject.includes('=?')
    ? subject.replace(encodedAtOnce, (part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?= `).trimEnd()
    : subject

/** Eleven characters have at most 44 bytes. An encoded word may have 75 characters (RFC 2047). */
const encodedAtOnce = /.{1,11}/gsu

/**
 * Writes a mail to `<dataDir>/mail/<id of the job>.eml`. The ids are in the order of time. The mode is 0600, because
 * mails have sign-in links. The file appears under this name only when it is complete, and a repeated job replaces it.
 * Its text is encoded as 8bit, so that it can be read without a mail program.
 */
async function writeMail(
  dataDir: string,
  id: string,
  { from, messageId, to, subject, text, html }: Mail & { from: { name: string; address: string }; messageId: string },
): Promise<void> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  const readable = (subtype: string, content: string) => ({
    contentType: `text/${subtype}; charset=utf-8`,
    content,
    contentTransferEncoding: '8bit' as const,
  })
  const alternatives = [readable('plain', text), ...(html === undefined ? [] : [readable('html', html)])]
  const head = { from, to: recipient(to), subject: subjectOf(subject), messageId }
  const { message } = await composer.sendMail({ ...head, alternatives })

  const folder = join(dataDir, 'mail')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `.${uuidv7()}.draft`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(message as Buffer)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(folder, `${id}.eml`))
}

/** The number of mails that one process sends at the same time, each on its own connection to the SMTP server. */
export const maxMails = 10
