import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Mailbox, openMailbox, Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'
import { signal } from '../src/processes.ts'

/**
 * Password mode as an organisation runs it: mail by SMTP, tokens that only auth can sign, and in the cluster two replicas of everything.
 */
describe.each(usualTopologies)('password mode, %s', (topology) => {
  let mailbox: Mailbox
  let keys: string
  let installation: Installation
  let nobody: Person

  beforeAll(async () => {
    mailbox = await openMailbox()
    keys = await mkdtemp(path.join(tmpdir(), 'parley-keys-'))
    await writeKey(keyFile('first'), generateKeyPairSync('ed25519'))
    await writeKey(keyFile('second'), generateKeyPairSync('ec', { namedCurve: 'prime256v1' }))
    installation = await launch(topology, {
      env: {
        PARLEY_AUTH_AUTH_MODE: 'password',
        PARLEY_AUTH_JWT_KEYS: ['first', 'second'].map(keyFile).join(','),
        PARLEY_EMAIL_HOST: '127.0.0.1',
        PARLEY_EMAIL_PORT: String(mailbox.port),
        PARLEY_LOG_LEVEL: 'debug',
        INITIAL_USER_PASSWORD: passwords.admin,
      },
    })
    nobody = Person.nobody(installation.baseUrl)
  })
  afterAll(async () => {
    await installation?.discard()
    await mailbox?.close()
    await rm(keys, { recursive: true, force: true })
  })

  const keyFile = (name: string) => path.join(keys, `${name}.pem`)
  const writeKey = (file: string, { privateKey }: { privateKey: KeyObject }) =>
    writeFile(file, privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const login = (email: string, password: string) => nobody.post('/auth/password-login', { email, password })
  async function signIn(email: string, password: string): Promise<Person> {
    const { status, body } = await login(email, password)
    expect(status).toBe(200)
    return new Person(installation.baseUrl, { id: '', userName: email }, body.accessToken, body.refreshToken)
  }

  test('the admin of the first start invites a person, who chooses a password and posts', async () => {
    const admin = await signIn('admin@example.com', passwords.admin)
    expect(await admin.post('/users/add', { email: 'ann@example.com' })).toMatchObject({ status: 200 })

    const { link } = await mailbox.nextTo('ann@example.com')
    expect([link.origin, link.pathname]).toEqual([installation.baseUrl, '/'])
    const token = link.searchParams.get('token')
    const body = { email: link.searchParams.get('email'), token, password: passwords.ann }
    expect(await nobody.post('/auth/setup-password', body)).toMatchObject({ status: 200 })
    const ann = await signIn('ann@example.com', passwords.ann)
    await ann.says('hello', await ann.creates({ name: 'of ann' }))
  })

  test('a person registers, forgets the password, resets it by mail, and their stream ends', async () => {
    const registered = await nobody.post('/auth/register', { email: 'bob@example.com', password: passwords.bob })
    expect(registered).toMatchObject({ status: 200 })
    const bob = new Person(installation.baseUrl, { id: '', userName: 'bob' }, registered.body.accessToken)
    const stream = await bob.opensStream()

    await nobody.post('/auth/request-password-reset', { email: 'BOB@example.com' })
    const { link } = await mailbox.nextTo('bob@example.com')
    expect(link.pathname).toBe('/reset')
    const body = { email: 'bob@example.com', password: passwords.bobAgain }
    const authorization = `Bearer ${link.searchParams.get('token')}`
    expect(await nobody.post('/auth/setup-password', body, { authorization })).toMatchObject({ status: 200 })

    await stream.ended
    expect(await bob.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await login('bob@example.com', passwords.bob)).toMatchObject({ status: 401 })
    await signIn('bob@example.com', passwords.bobAgain)
  })

  test('ten wrong passwords are checked, with any number of processes', async () => {
    const responses = await Promise.all(
      Array.from({ length: 14 }, (_, index) => login('guessed@example.com', `${passwords.guess} ${index}`)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), ...Array(4).fill(429)])
  })

  // Twenty registrations hash twenty passwords, two at a time in each process.
  test('twenty concurrent registrations with one address create one person', { timeout: 90_000 }, async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, () =>
        nobody.post('/auth/register', { email: 'race@example.com', password: passwords.race }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
  })

  // In solo, a restart of the only process ends the streams. The timeout is long enough for a busy machine.
  const inCluster = test.runIf(topology === 'cluster')
  inCluster('the signing key is replaced, one replica of auth after the other', { timeout: 120_000 }, async () => {
    const admin = await signIn('admin@example.com', passwords.admin)
    const laterRefreshed = await signIn('admin@example.com', passwords.admin)
    expect(algorithmOf(admin.token!)).toBe('EdDSA')
    const channel = await admin.creates({ name: 'new keys' })
    const stream = await admin.opensStream()

    await rename(keyFile('first'), keyFile('old'))
    await rename(keyFile('second'), keyFile('first'))
    await rename(keyFile('old'), keyFile('second'))
    let { refreshToken } = admin
    let accessToken = ''
    const replicas = await installation.processesOf('auth')
    expect(replicas).toHaveLength(2)
    for (const { pid } of replicas) {
      const from = installation.output.length
      signal(pid, 'SIGTERM')
      await installation.printed(new RegExp(`\\(pid ${pid}\\) has ended`), { from })
      const [, name] = new RegExp(`(auth-\\d) \\(pid ${pid}\\)`).exec(installation.output.slice(from))!
      const port = await readFile(path.join(installation.directory, 'cluster', name!, 'port'), 'utf8')
      const replica = Person.nobody(`http://127.0.0.1:${port.trim()}`)
      const refresh = async () => {
        const { status, body } = await replica.post('/auth/refresh', { refreshToken })
        if (status !== 200) return status
        ;({ accessToken, refreshToken } = body)
        return algorithmOf(accessToken)
      }
      await expect.poll(() => refresh().catch(() => 'nobody answers'), { timeout: 50_000 }).toBe('ES256')
    }

    await admin.says('with the token of the old key', channel)
    await new Person(installation.baseUrl, admin, accessToken).says('with that of the new key', channel)
    await stream.waitFor('NEW_MESSAGE', { content: 'with the token of the old key' })
    await stream.waitFor('NEW_MESSAGE', { content: 'with that of the new key' })
    const refreshed = await nobody.post('/auth/refresh', { refreshToken: laterRefreshed.refreshToken })
    expect([refreshed.status, algorithmOf(refreshed.body.accessToken)]).toEqual([200, 'ES256'])
    await stream.close()
  })

  test('no process printed a password, a token or an address', async () => {
    expect(installation.output).toMatch(/"level":"debug"/)
    const secrets = [...Object.values(passwords), ...mailbox.letters.map(({ link }) => link.searchParams.get('token')!)]
    for (const secret of secrets) expect(installation.output).not.toContain(secret)
    for (const name of ['ann', 'bob', 'guessed', 'race']) {
      expect(installation.output).not.toMatch(new RegExp(`${name}(@|%40)example\\.com`))
    }
  })
})

const algorithmOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).alg

const passwords = {
  admin: 'the password of the admin',
  ann: 'the password of ann',
  bob: 'the first password of bob',
  bobAgain: 'the second password of bob',
  guess: 'a password of nobody',
  race: 'a password for twenty',
}
