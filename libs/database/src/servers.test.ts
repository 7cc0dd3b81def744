import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chown, copyFile, cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { connectDatabase, isDatabaseUnavailable } from '@parley/database'
import { type EmbeddedServer, freePort, startPostgres } from '@parley/embedded'
import { createLogger } from '@parley/telemetry'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'

const run = promisify(execFile)
const openssl = (args: string[]) => run('openssl', args)
const hasOpenssl = await openssl(['version']).then(
  () => true,
  () => false,
)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-servers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const start = (name: string) => startPostgres({ directory: path.join(folder, name), durable: false })

const connect = (url: string, ca?: string) =>
  connectDatabase({ url, ca, poolSize: 2, applicationName: 'test', onIdleError: () => {} })

function open(url: string, ca?: string) {
  const connection = connect(url, ca)
  onTestFinished(connection.close)
  return connection
}

/** Runs one statement that prepares a server. */
async function execute(url: string, statement: string) {
  const { pool, close } = connect(url)
  await pool.query(statement).finally(close)
}

/** The message with which a connection fails. */
const refusal = async (url: string, ca?: string) => {
  const error = await open(url, ca)
    .pool.query('select 1')
    .then(
      () => expect.fail(`${url} must not be reached`),
      (error: Error) => error,
    )
  expect(isDatabaseUnavailable(error)).toBe(true)
  expect(logged(error)).not.toHaveProperty('err.stack')
  expect(error.message).not.toMatch(/\n|secret/)
  return error.message
}

/** The fields that the log has of an error. */
function logged(error: Error) {
  const lines: string[] = []
  const destination = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) })
  createLogger({ service: 'test', level: 'warn', destination }).warn({ err: error }, 'failed')
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!)
}

const changed = (
  url: string,
  changes: Partial<Pick<URL, 'hostname' | 'port' | 'username' | 'password' | 'pathname' | 'search'>>,
) => Object.assign(new URL(url), changes).href

describe('several servers', () => {
  let primary: EmbeddedServer
  let standby: EmbeddedServer
  beforeAll(async () => {
    primary = await start('primary')
    await execute(primary.url, 'create table kept (name text)')
    await primary.stop()
    // A standby is a copy of the primary that follows it.
    for (const each of ['data', 'password']) {
      await cp(path.join(folder, 'primary', each), path.join(folder, 'standby', each), { recursive: true })
    }
    await primary.restart()
    standby = await startStandby(primary.url)
  }, 60_000)
  afterAll(async () => {
    await standby?.stop()
    await primary?.stop()
  })

  async function startStandby(followed: string) {
    const { hostname, port, username, password } = new URL(followed)
    const data = path.join(folder, 'standby', 'data')
    const { uid, gid } = await stat(path.join(folder, 'primary', 'data'))
    const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`
    await appendFile(path.join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
    await writeFile(path.join(data, 'standby.signal'), '')
    await run('chown', ['-R', `${uid}:${gid}`, data])
    return start('standby')
  }

  const host = ({ url }: EmbeddedServer) => new URL(url).host
  const naming = (...hosts: string[]) => primary.url.replace(host(primary), hosts.join(','))
  const portOf = async (url: string) => {
    const { rows } = await sql<{ port: number }>`select inet_server_port() as port`.execute(open(url).db)
    return rows[0]!.port
  }

  test('a server that is down is skipped', async () => {
    const nobody = `127.0.0.1:${await freePort()}`
    expect(await portOf(naming(nobody, host(primary)))).toBe(Number(new URL(primary.url).port))
  })

  test('a standby is skipped, because it accepts no writes', async () => {
    expect(await portOf(naming(host(standby), host(primary)))).toBe(Number(new URL(primary.url).port))
    expect(await refusal(changed(standby.url, { search: '?target_session_attrs=read-write' }))).toMatch(
      /^PostgreSQL at 127\.0\.0\.1:\d+ is a read-only standby: /,
    )
  })

  test('when no server can be used, the error names the fault of each', async () => {
    const nobody = `127.0.0.1:${await freePort()}`
    const sentence = await refusal(naming(nobody, host(standby)))
    expect(sentence).toContain(`PostgreSQL at ${nobody} refuses the connection (ECONNREFUSED): check`)
    expect(sentence).toContain(`PostgreSQL at ${host(standby)} is a read-only standby`)
  })

  test('after the primary died, the same pool uses the promoted standby', async () => {
    const { pool } = open(naming(host(primary), host(standby)))
    await pool.query(`insert into kept values ('before')`)
    const follower = open(standby.url)
    await expect
      .poll(async () => (await follower.pool.query('select name from kept')).rows)
      .toEqual([{ name: 'before' }])

    const died = new Promise((resolve) => primary.onExit(resolve))
    primary.kill('SIGKILL')
    await died
    const failure = await pool.query(`insert into kept values ('lost')`).catch((error: Error) => error)
    expect(isDatabaseUnavailable(failure)).toBe(true)
    expect(logged(failure as Error)).not.toHaveProperty('err.stack')

    await follower.pool.query('select pg_promote()')
    await pool.query(`insert into kept values ('after')`)
    expect((await pool.query('select name from kept')).rows).toEqual([{ name: 'before' }, { name: 'after' }])
  })
})

describe.skipIf(!hasOpenssl)(`a server with TLS${hasOpenssl ? '' : ' (no openssl on this machine)'}`, () => {
  let server: EmbeddedServer
  let authority: string
  let stranger: string
  /** Its certificate is for `localhost`. */
  let url: string
  beforeAll(async () => {
    server = await start('secure')
    authority = await makeAuthority('authority')
    stranger = await makeAuthority('stranger')
    await secure(path.join(folder, 'secure', 'data'))
    url = changed(server.url, { hostname: 'localhost' })
  }, 60_000)
  afterAll(() => server?.stop())

  async function makeAuthority(name: string) {
    const [key, cert] = [path.join(folder, `${name}.key`), path.join(folder, `${name}.crt`)]
    const subject = ['-subj', `/CN=${name}`, '-days', '2', ...newKey]
    await openssl(['req', '-x509', ...subject, '-keyout', key, '-out', cert])
    return readFile(cert, 'utf8')
  }

  /** Installs a certificate of the authority, and refuses connections without TLS. */
  async function secure(data: string) {
    const [key, cert] = [path.join(data, 'server.key'), path.join(data, 'server.crt')]
    const signed = ['-CA', path.join(folder, 'authority.crt'), '-CAkey', path.join(folder, 'authority.key')]
    const subject = ['-subj', '/CN=database', '-addext', 'subjectAltName=DNS:localhost', '-days', '2', ...newKey]
    await openssl(['req', '-x509', ...subject, ...signed, '-keyout', key, '-out', cert])
    const { uid, gid } = await stat(data)
    for (const file of [key, cert]) await chown(file, uid, gid)
    await execute(server.url, 'alter system set ssl = on')
    // Clients need no certificate, but a certificate of a client has to be from this authority.
    const authorities = path.join(data, 'authority.crt')
    await copyFile(path.join(folder, 'authority.crt'), authorities)
    await chown(authorities, uid, gid)
    await execute(server.url, `alter system set ssl_ca_file = 'authority.crt'`)
    // TLS is required only after the restart, because our launcher checks the server without TLS.
    await server.restart()
    const rules = ['hostssl all certified all scram-sha-256 clientcert=verify-ca', 'hostssl all all all scram-sha-256']
    await writeFile(path.join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`)
    await execute(server.url, 'select pg_reload_conf()')
    // The rules apply as soon as the server has reloaded them.
    await vi.waitFor(() => expect(execute(server.url, 'select 1')).rejects.toThrow('no encryption'), {
      timeout: 20_000,
    })
  }

  const isEncrypted = async (url: string, ca?: string) => {
    const { rows } = await open(url, ca).pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    return rows[0].ssl as boolean
  }

  test('is trusted only through the configured authority', async () => {
    expect(await isEncrypted(url, authority)).toBe(true)
    expect(await isEncrypted(`${url}?sslmode=verify-full&sslrootcert=${folder}/authority.crt`)).toBe(true)

    const untrusted =
      /^PostgreSQL at localhost:\d+ has a certificate that is not from a trusted authority \([A-Z_]+\): give/
    expect(await refusal(url, stranger)).toMatch(untrusted)
    expect(await refusal(`${url}?sslmode=verify-full`)).toMatch(untrusted)
    expect(await refusal(`${url}?sslmode=verify-ca&sslrootcert=${folder}/stranger.crt`)).toMatch(untrusted)
  })

  test('is refused by verify-full when its certificate has another name, but not by verify-ca and require', async () => {
    expect(await refusal(server.url, authority)).toMatch(
      /^PostgreSQL at 127\.0\.0\.1:\d+ has a certificate for another host name \(ERR_TLS_CERT_ALTNAME_INVALID\): /,
    )
    expect(await isEncrypted(`${server.url}?sslmode=verify-ca`, authority)).toBe(true)
    expect(await isEncrypted(`${server.url}?sslmode=require`, authority)).toBe(true)
    expect(await isEncrypted(`${server.url}?sslmode=require`)).toBe(true)
  })

  test('refuses connections without TLS when it demands TLS', async () => {
    expect(await refusal(server.url)).toMatch(/ does not let parley in, .*no encryption.*: check user and sslmode/)
    expect(await refusal(`${server.url}?sslmode=disable`)).toMatch(/ does not let parley in, .*no encryption/)
  })

  test('says what is wrong with a client certificate', async () => {
    const withFiles = (cert: string, key: string) => `${url}?sslcert=${folder}/${cert}&sslkey=${folder}/${key}`
    expect(await isEncrypted(withFiles('authority.crt', 'authority.key'), authority)).toBe(true)
    expect(await refusal(withFiles('stranger.crt', 'stranger.key'), authority)).toMatch(
      /^PostgreSQL at \S+ refuses the client certificate \(ERR_SSL_\w+\): check that sslcert/,
    )
    const unusable =
      /^PostgreSQL at \S+ cannot be asked, because the client certificate or its key cannot be used \(ERR_OSSL_\w+\): /
    expect(await refusal(withFiles('authority.crt', 'stranger.key'), authority)).toMatch(unusable)
    expect(await refusal(withFiles('authority.key', 'authority.key'), authority)).toMatch(unusable)
    expect(await refusal(changed(url, { username: 'certified' }), authority)).toMatch(
      / does not let certified in, .*client certificate.*: give it by sslcert and sslkey in database\.url$/,
    )
  })

  test('counts as lost when it is silent, not when it is busy', async () => {
    const { pool, close } = connectDatabase({
      url,
      ca: authority,
      poolSize: 1,
      applicationName: 'test',
      onIdleError: () => {},
      silenceMs: 1_000,
    })
    onTestFinished(close)
    // Each response counts as a sign of life, also on an encrypted connection.
    const client = await pool.connect()
    for (let turn = 0; turn < 4; turn++) await client.query('select pg_sleep(0.5)')
    const failure = await client.query('select pg_sleep(30)').catch((error: Error) => error)
    client.release(true)
    expect(isDatabaseUnavailable(failure)).toBe(true)
  })
})

describe('the error of a failed connection says why and what to do, in one line', () => {
  const url = inject('postgresUrl')

  test.each([
    ['nobody listens', { hostname: '127.0.0.1', port: '1' }, /^PostgreSQL at 127\.0\.0\.1:1 refuses .*: check/],
    ['the host is unknown', { hostname: 'db.invalid' }, /^PostgreSQL at db\.invalid:\d+ cannot be found, .*: check/],
    ['the password is wrong', { password: 'secret' }, /^PostgreSQL at \S+ refuses the password of parley \(28P01\): /],
    ['there is no such database', { pathname: '/none' }, /^PostgreSQL at \S+ has no database none \(3D000\): create/],
    ['TLS is not offered', { search: '?sslmode=require' }, /^PostgreSQL at \S+ offers no TLS: switch it on there/],
  ])('when %s', async (_, changes, sentence) => {
    expect(await refusal(changed(url, changes))).toMatch(sentence)
  })

  test('when the server does not answer', { timeout: 20_000 }, async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as AddressInfo
    expect(await refusal(changed(url, { hostname: '127.0.0.1', port: String(port) }))).toMatch(
      /^PostgreSQL at 127\.0\.0\.1:\d+ does not answer \(ETIMEDOUT\): check/,
    )
  })
})

test('an authority that cannot be read or is no certificate is a fault of the configuration', () => {
  const url = inject('postgresUrl')
  const opening = (search: string, ca?: string) => () => open(changed(url, { search }), ca)
  expect(opening('?sslrootcert=/nowhere/ca.crt')).toThrow('database.url: names the sslrootcert /nowhere/ca.crt, which')
  expect(opening('', 'no certificate')).toThrow('database.tls.ca: must name certificates in the PEM format')
})

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
