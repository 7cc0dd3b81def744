import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createUser } from '@parley/accounts'
import { recordJob } from '@parley/database'
import { tryDelayedNow } from '@parley/jobs/testing'
import type { Deps } from '@parley/service'
import { createCertifiedKey } from '@parley/test/certificates'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { worker } from '../service.ts'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { createMailer, type Mail, retryMs } from './mailer.ts'

const held = workerEnvironment()
const link = 'https://chat.example.com/?token=a.b.c&email=ann%40example.com'
const mail = { to: 'ann@example.com', subject: 'Willkommen, Änn', text: `Sign in: ${link}\n` }
const open: (() => Promise<unknown>)[] = []
const unchanged = async (mail: Mail) => mail
const { privateKey, certificate } = createCertifiedKey()

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function smtp(options: SMTPServerOptions = {}) {
  const received: { body: string; secure: boolean; user: unknown }[] = []
  const server = new SMTPServer({
    key: privateKey,
    cert: certificate,
    authOptional: true,
    onData(stream, session, done) {
      text(stream).then((body) => {
        received.push({ body, secure: session.secure, user: session.user })
        done()
      }, done)
    },
    ...options,
  })
  // Clients that end a connection during the TLS handshake do not matter to these tests.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  open.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { received, port: (server.server.address() as AddressInfo).port }
}

async function startWorker(deps: Deps) {
  const running = worker(deps)
  await running.start!()
  open.unshift(async () => running.stop!())
}

const refuseAuth: SMTPServerOptions['onAuth'] = (_auth, _session, done) => done(new Error('Authentication failed'))
const acceptAuth: SMTPServerOptions['onAuth'] = ({ username }, _session, done) => done(null, { user: username })
const refuseRecipient: SMTPServerOptions['onRcptTo'] = (_address, _session, done) =>
  done(Object.assign(new Error('no such box <ann@example.com>'), { responseCode: 550 }))

const recordMail = (to = mail.to, userId?: string) =>
  held.database.db
    .transaction()
    .execute((trx) => recordJob(trx, 'send-mail', { ...mail, to, ...(userId && { userId }) }))
async function addPerson(email: string): Promise<string> {
  const { db } = held.database
  const user = await db.transaction().execute((trx) => createUser(trx, { email, ip: null, now: Date.now() }))
  return user!.id
}
const tryAgainNow = ({ config }: Deps, count: number) => tryDelayedNow(config.redis, 'send-mail', count)
const jobs = async () => (await held.database.pool.query('select id, failed_at from jobs')).rows

describe('a mail that was recorded', () => {
  test('is sent to an SMTP server that refuses first and accepts later', async () => {
    let refusals = 1
    const server = await smtp({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo(_address, _session, done) {
        if (refusals-- > 0) done(Object.assign(new Error('come back later'), { responseCode: 451 }))
        else done()
      },
    })
    const deps = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
    await startWorker(deps)
    await recordMail()
    await tryAgainNow(deps, 1)

    await eventually(async () => expect([server.received.length, await jobs()]).toEqual([1, []]))
    expect(server.received[0]!.body).toContain('To: ann@example.com')
  })

  test('is written to a file that only its owner may read when no SMTP server is set', async () => {
    await startWorker(held.deps)
    await recordMail()
    await eventually(async () => expect(await jobs()).toEqual([]))

    const folder = join(held.dataDir, 'mail')
    const [name] = await readdir(folder)
    expect(name).toMatch(/\.eml$/)
    expect((await stat(join(folder, name!))).mode & 0o777).toBe(0o600)
    const written = await readFile(join(folder, name!), 'utf8')
    expect(written).toContain('To: ann@example.com')
    expect(written).toContain(`Sign in: ${link}\n`)
  })
})

describe('a mail to a person who', () => {
  test.each([
    ['was removed', { removedAt: 1 }],
    ['was deactivated', { deactivatedAt: 1 }],
    ['is a guest whose time is over', { isGuest: true, guestExpiresAt: 1 }],
  ])('%s between two attempts is not sent', async (state, change) => {
    let isRefusing = true
    let refused = 0
    const server = await smtp({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo(_address, _session, done) {
        if (!isRefusing) return done()
        refused++
        done(Object.assign(new Error('come back later'), { responseCode: 451 }))
      },
    })
    const deps = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
    await startWorker(deps)
    const [gone, staying] = [`gone-${state.length}@example.com`, `stays-${state.length}@example.com`]
    const goneId = await addPerson(gone)
    await recordMail(gone, goneId)
    await recordMail(staying, await addPerson(staying))
    await eventually(() => expect(refused).toBe(2))
    isRefusing = false
    await held.database.db.updateTable('users').set(change).where('id', '=', goneId).execute()
    await tryAgainNow(deps, 2)

    await eventually(async () => expect(await jobs()).toEqual([]))
    expect(server.received.map(({ body }) => /^To: (.*)$/m.exec(body)?.[1])).toEqual([staying])
  })
})

test('a mail whose attempt is repeated replaces its file', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-mail-'))
  open.push(() => rm(dataDir, { recursive: true }))
  const mailer = createMailer({ ...held.deps.config, dataDir }, unchanged)
  await mailer.send(mail, 'the-job')
  await mailer.send(mail, 'the-job')
  expect(await readdir(join(dataDir, 'mail'))).toEqual(['the-job.eml'])
})

describe('a subject with a name that mail programs would decode', () => {
  const encoded = '=?utf-8?b?4oCuQWRh?='
  const subjects = [`${encoded} wrote to you (Parley)`, `${encoded} mentioned you in #שלום ${encoded}`]
  const subjectIn = (source: string) => /^Subject: (.*(?:\r?\n\s.*)*)/m.exec(source)![1]!
  const decoded = (subject: string) => {
    expect(subject).toMatch(/^=\?UTF-8\?B\?/)
    const words = subject.matchAll(/=\?UTF-8\?B\?([\w+/]+=*)\?=(?:\s+|$)/g)
    return words.reduce((text, [, base64]) => text + Buffer.from(base64!, 'base64').toString(), '')
  }

  test.each(subjects)('is sent as it is: %s', async (subject) => {
    const server = await smtp({ disabledCommands: ['STARTTLS', 'AUTH'] })
    const { config } = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
    const mailer = createMailer(config, unchanged)
    open.unshift(async () => mailer.close())
    await mailer.send({ ...mail, subject }, 'the-job')
    expect(decoded(subjectIn(server.received[0]!.body))).toBe(subject)
  })

  test.each(subjects)('is written to a file as it is: %s', async (subject) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'parley-mail-'))
    open.push(() => rm(dataDir, { recursive: true }))
    await createMailer({ ...held.deps.config, dataDir }, unchanged).send({ ...mail, subject }, 'the-job')
    expect(decoded(subjectIn(await readFile(join(dataDir, 'mail', 'the-job.eml'), 'utf8')))).toBe(subject)
  })
})

describe('the pauses between the attempts for a mail', () => {
  const pauses = [1, 2, 3, 4, 5].map(retryMs)
  const minutes = (ms: number) => ms / 60_000

  test('begin soon and outlast greylisting and an outage of an hour', () => {
    expect(minutes(pauses[0]!)).toBeLessThan(0.5)
    // The usual delay of greylisting, and an attempt soon after it.
    const afterThree = minutes(pauses.slice(0, 3).reduce((sum, pause) => sum + pause))
    expect(afterThree).toBeGreaterThan(4)
    expect(afterThree).toBeLessThan(10)
    expect(minutes(pauses.reduce((sum, pause) => sum + pause))).toBeGreaterThan(60)
  })

  test('grow to some hours, and no longer', () => {
    expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses)
    for (const retry of [6, 7, 100]) {
      expect(minutes(retryMs(retry))).toBeGreaterThan(60)
      expect(minutes(retryMs(retry))).toBeLessThanOrEqual(240)
    }
  })
})

describe('mails to a domain that', () => {
  test('replies slowly do not delay mails to others', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: string[] = []
    const server = await smtp({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo({ address }, _session, done) {
        if (!address.endsWith('@slow.example')) return done()
        slow.push(address)
        gate.promise.then(() => done())
      },
    })
    await startWorker(await held.depsWith({ email: { host: '127.0.0.1', port: server.port } }))
    for (let n = 0; n < 30; n++) await recordMail(`${n}@slow.example`)
    await eventually(() => expect(slow.length).toBeGreaterThanOrEqual(4))
    for (let n = 0; n < 5; n++) await recordMail(`${n}@fast.example`)

    await eventually(() => expect(server.received).toHaveLength(5))
    for (const { body } of server.received) expect(body).toMatch(/^To: \d@fast.example/m)
    expect(slow).toHaveLength(4)
    gate.resolve()
    await eventually(async () => expect([server.received.length, await jobs()]).toEqual([35, []]))
  })

  test('refuses them for now do not delay mails to others, and are sent when it accepts them', async () => {
    let isRefusing = true
    let refused = 0
    const server = await smtp({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo({ address }, _session, done) {
        if (isRefusing && address.endsWith('@grey.example')) {
          refused++
          done(Object.assign(new Error('greylisted, come back later'), { responseCode: 451 }))
        } else done()
      },
    })
    const deps = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
    await startWorker(deps)
    for (let n = 0; n < 12; n++) await recordMail(`${n}@grey.example`)
    await recordMail('ann@fast.example')
    await eventually(() => expect(server.received).toHaveLength(1))
    expect(server.received[0]!.body).toMatch(/^To: ann@fast.example/m)

    await eventually(() => expect(refused).toBe(12))
    isRefusing = false
    await tryAgainNow(deps, 12)
    await eventually(async () => expect([server.received.length, await jobs()]).toEqual([13, []]))
  })
})

describe('a mail that cannot be sent', () => {
  test.each<[string, SMTPServerOptions, RegExp]>([
    [
      'the password is refused',
      { disabledCommands: ['STARTTLS'], authOptional: false, onAuth: refuseAuth },
      /Authentication failed/,
    ],
    [
      'the address is refused',
      { disabledCommands: ['STARTTLS'], onAuth: acceptAuth, onRcptTo: refuseRecipient },
      /no such box <\[address\]>/,
    ],
  ])('because %s is tried as often as configured, then kept with the reason', async (_, options, reason) => {
    const server = await smtp(options)
    const email = { host: '127.0.0.1', port: server.port, user: 'bot@example.com', password: 'secret', maxRetries: 0 }
    await startWorker(await held.depsWith({ email }))
    await recordMail()

    await eventually(async () => expect(await jobs()).toMatchObject([{ failed_at: expect.any(Number) }]))
    const { rows } = await held.database.pool.query('select failure from jobs')
    expect(rows[0].failure).toMatch(reason)
    expect(server.received).toEqual([])
    await held.database.pool.query('truncate jobs')
  })

  test('fails when nothing listens at the address, or no mail server does', async () => {
    const silent = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    open.push(() => new Promise<void>((resolve) => silent.close(() => resolve())))
    for (const port of [1, (silent.address() as AddressInfo).port]) {
      const { config } = await held.depsWith({ email: { host: '127.0.0.1', port } })
      const mailer = createMailer(config, unchanged)
      await expect(mailer.send(mail, 'an-id')).rejects.toThrow()
      mailer.close()
    }
  })

  test('fails when TLS is required and the server does not support it, and nothing is sent unencrypted', async () => {
    const server = await smtp({ disabledCommands: ['STARTTLS'] })
    const { config } = await held.depsWith({ email: { host: '127.0.0.1', port: server.port, secure: true } })
    const mailer = createMailer(config, unchanged)
    await expect(mailer.send(mail, 'an-id')).rejects.toThrow(/SSL|TLS|wrong version/i)
    mailer.close()
    expect(server.received).toEqual([])
  })
})

describe('the SMTP server', () => {
  test.each(['x,victim@example.com', 'x:victim@example.com;', '(x)victim@example.com'])(
    'gets the address %s unchanged, although a mail program could interpret it',
    async (to) => {
      const recipients: string[] = []
      const server = await smtp({
        onRcptTo({ address }, _session, done) {
          recipients.push(address)
          done()
        },
      })
      const { config } = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
      const mailer = createMailer(config, unchanged)
      await mailer.send({ ...mail, to }, 'an-id').catch(() => {})
      mailer.close()
      expect(recipients).not.toContain('victim@example.com')
    },
  )

  test('gets a mail with the same Message-ID in each attempt', async () => {
    const server = await smtp()
    const { config } = await held.depsWith({
      email: { host: '127.0.0.1', port: server.port },
      auth: { jwtSecret: 'a-secret-of-tests-with-more-than-32-characters', appUrl: 'https://chat.example.com' },
    })
    const mailer = createMailer(config, unchanged)
    await mailer.send(mail, 'the-job')
    await mailer.send(mail, 'the-job')
    mailer.close()
    const ids = server.received.map(({ body }) => /^Message-ID: (.*)$/im.exec(body)?.[1])
    expect(ids).toEqual(['<the-job@chat.example.com>', '<the-job@chat.example.com>'])
  })

  test('with TLS from the start gets mail encrypted', async () => {
    const server = await smtp({ secure: true })
    const { config } = await held.depsWith({ email: { host: '127.0.0.1', port: server.port, secure: true } })
    const mailer = createMailer(config, unchanged)
    await mailer.send(mail, 'an-id')
    mailer.close()
    expect(server.received).toMatchObject([{ secure: true }])
  })

  test('gets mail encrypted when it offers STARTTLS, on this machine with any certificate', async () => {
    const server = await smtp()
    const { config } = await held.depsWith({ email: { host: '127.0.0.1', port: server.port } })
    const mailer = createMailer(config, unchanged)
    await mailer.send(mail, 'an-id')
    mailer.close()
    expect(server.received).toMatchObject([{ secure: true }])
  })

  test('gets user and password, and both versions of the mail', async () => {
    const server = await smtp({
      disabledCommands: ['STARTTLS'],
      authOptional: false,
      onAuth({ username, password }, _session, done) {
        done(null, username === 'bot@example.com' && password === 'secret' ? { user: username } : undefined)
      },
    })
    const { config } = await held.depsWith({
      email: { host: '127.0.0.1', port: server.port, user: 'bot@example.com', password: 'secret' },
    })
    const mailer = createMailer(config, unchanged)
    await mailer.send({ ...mail, html: '<p>Sign in</p>' }, 'an-id')
    mailer.close()
    expect(server.received).toMatchObject([{ user: 'bot@example.com' }])
    expect(server.received[0]!.body).toMatch(/From: Parley <bot@example.com>[\s\S]*text\/plain[\s\S]*text\/html/)
  })
})
