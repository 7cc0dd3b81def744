import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface Letter {
  to: string
  /** The mail with its headers, without the quoted-printable encoding. */
  source: string
  /** The first link of its text. */
  link: URL
}

export interface Mailbox {
  port: number
  letters: Letter[]
  /** While it is true, every mail is refused for now. */
  isRefusing: boolean
  /** The addresses whose mails were refused. */
  refused: string[]
  /** The next letter to this address that was not returned before. Rejects after 20 s. */
  nextTo(address: string): Promise<Letter>
  close(): Promise<void>
}

/** A real SMTP server on this machine. */
export async function openMailbox(): Promise<Mailbox> {
  const letters: Letter[] = []
  const refused: string[] = []
  const read = new Set<Letter>()
  const arrivals = new EventTarget()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo({ address }, _session, done) {
      if (!mailbox.isRefusing) return done()
      refused.push(address)
      done(Object.assign(new Error('come back later'), { responseCode: 451 }))
    },
    onData(stream, { envelope }, done) {
      text(stream).then((raw) => {
        const source = raw
          .replace(/=\r?\n/g, '')
          .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
        const body = source.slice(source.indexOf('\r\n\r\n'))
        const [address] = /https?:\/\/[^\s"<]+/.exec(body) ?? ['http://no.link']
        for (const { address: to } of envelope.rcptTo) letters.push({ to, source, link: new URL(address) })
        arrivals.dispatchEvent(new Event('letter'))
        done()
      }, done)
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')

  async function nextTo(address: string): Promise<Letter> {
    const signal = AbortSignal.timeout(20_000)
    for (;;) {
      const letter = letters.find((each) => each.to === address && !read.has(each))
      if (letter) {
        read.add(letter)
        return letter
      }
      await once(arrivals, 'letter', { signal }).catch(() => {
        throw new Error(`no letter to ${address}`)
      })
    }
  }

  const mailbox: Mailbox = {
    port: (server.server.address() as AddressInfo).port,
    letters,
    isRefusing: false,
    refused,
    nextTo,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return mailbox
}
