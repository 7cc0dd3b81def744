import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { ensureFirstStart, verifyPassword } from '@parley/accounts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { main } from './main.ts'

let database: TestDatabase
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-cli-'))
  database = await createDatabase()
  await ensureFirstStart(database.db, { chat: { initialUser: { userName: 'ada', email: 'ada@example.com' } } })
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

interface Ran {
  code: number
  out: string
  err: string
}

/** Runs the command line in an empty folder, with a given standard input and no terminal. */
async function parley(args: string[], { input = '', env = {} as Record<string, string> } = {}): Promise<Ran> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'parley.mjs'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, ...env },
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, out, err }
}

/**
 * The same in this process, for commands that need neither standard input nor variables. Starting a process takes a
 * second.
 */
async function here(args: string[]): Promise<Ran> {
  const written = { out: '', err: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name === 'stdout' ? 'out' : 'err'] += chunk
      return true
    }),
  )
  try {
    const code = await main(args)
    return { code, ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

const url = () => `--database.url=${database.url}`

const person = (email: string) =>
  database.db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirstOrThrow()
const entries = (action: string) =>
  database.db
    .selectFrom('auditLog')
    .select(['actorId', 'targetId'])
    .where('action', '=', action)
    .orderBy('id')
    .execute()

describe('the command line', () => {
  test('prints its usage, and that of each command', async () => {
    const help = await parley(['--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    for (const command of ['migrate', 'check-config', 'create-admin', 'export', 'reset-password']) {
      expect(help.out).toContain(command)
      const { code, out } = await here([command, '--help', '--nonsense'])
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(`Usage: parley ${command}`) })
    }
  })

  test.each([
    [[]],
    [['nonsense']],
    [['migrate', '--nonsense']],
    [['migrate', 'now']],
    [['check-config', '--server.prot=1']],
    [['create-admin']],
    [['create-admin', '--email']],
    [['create-admin', '--password=in-the-open', '--email=a@b']],
    [['export', '--force=maybe', '--out=x']],
  ])('%j is 2, with the usage', async (args) => {
    const { code, out, err } = await here(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^parley: .*\n\nUsage: parley/)
    expect(err).not.toContain('in-the-open')
  })

  test.each(['--version', '-V'])('%s prints the version', async (flag) => {
    expect(await here([flag])).toEqual({ code: 0, out: expect.stringMatching(/^Parley \d+\.\d+\.\d+\n$/), err: '' })
  })

  test('reports an unavailable database', async () => {
    const env = { DATABASE_URL: 'postgres://nobody:topsecret@127.0.0.1:1/none' }
    const away = `--database.url=${env.DATABASE_URL}`
    const ran = [
      await parley(['reset-password', '--email=a@b'], { env, input: 'long enough' }),
      await here(['migrate', away]),
      await here(['export', '--out=-', away]),
    ]
    for (const { code, err } of ran) {
      expect({ code, err }).toEqual({
        code: 1,
        err: 'parley: PostgreSQL at 127.0.0.1:1 refuses the connection (ECONNREFUSED): check that it runs there, and host and port in database.url\n',
      })
      expect(err).not.toMatch(/topsecret|at .*\.ts/)
    }
  })
})

test('from an empty folder to a server with an admin', async () => {
  const fresh = await createEmptyDatabase()
  try {
    const url = `--database.url=${fresh.url}`
    const admin = ['create-admin', '--email=first@example.com', url]
    const early = await here(admin)
    expect({ code: early.code, err: early.err }).toEqual({ code: 1, err: expect.stringMatching(/^parley: [^\n]+\n$/) })
    expect(await here(['migrate', url])).toMatchObject({ code: 0, out: expect.stringContaining('ran 0001-') })
    expect(await here(admin)).toMatchObject({ code: 0, err: '' })
    expect(await fresh.db.selectFrom('users').select(['userName', 'isAdmin']).execute()).toEqual([
      { userName: 'first', isAdmin: true },
    ])
    expect(await fresh.db.selectFrom('channels').select('name').execute()).toEqual([{ name: 'General' }])
  } finally {
    await fresh.drop()
  }
})

test('migrate makes the first admin by the password in a file, removes that, and does not miss it afterwards', async () => {
  const fresh = await createEmptyDatabase()
  const file = path.join(folder, 'first-password')
  const args = ['migrate', `--first-password=${file}`, `--database.url=${fresh.url}`]
  try {
    await writeFile(file, 'the first password\n')
    expect(await here(args)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/admin@example.com is the first admin/),
    })
    const { passwordHash } = await fresh.db.selectFrom('users').select('passwordHash').executeTakeFirstOrThrow()
    expect(await verifyPassword('the first password', passwordHash!)).toBe(true)
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await here(args)).toMatchObject({ code: 0, out: 'The schema is up to date.\n' })

    await writeFile(file, 'another password')
    expect(await here(args)).toMatchObject({ code: 0, out: 'The schema is up to date.\n' })
    const after = await fresh.db.selectFrom('users').select('passwordHash').execute()
    expect(after).toEqual([{ passwordHash }])
  } finally {
    await fresh.drop()
  }
})

test('migrate may be repeated', async () => {
  expect(await parley(['migrate'])).toMatchObject({ code: 0, out: 'The schema is up to date.\n', err: '' })
})

describe('migrate --passwords', () => {
  const migrate = async (files: Record<string, string>) => {
    const passwords = await mkdtemp(path.join(folder, 'passwords-'))
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(passwords, name), text)
    return { passwords, ...(await here(['migrate', '--passwords', passwords, url()])) }
  }

  test('with a folder that does not exist, or is a file, fails and migrates nothing', async () => {
    const file = path.join(folder, 'no-folder')
    await writeFile(file, '')
    const nowhere = '--database.url=postgres://nobody@127.0.0.1:1/none'
    for (const [what, reason] of [
      ['/nope', 'there is no such folder'],
      [file, 'it is a file, not a folder'],
    ] as const) {
      const ran = await here(['migrate', '--passwords', what, nowhere])
      expect(ran).toEqual({ code: 1, out: '', err: `parley: --passwords ${what}: ${reason}\n` })
    }
  })

  test.each(['database-password-mesaging', 'database_password_auth', 'Database-Password-auth', 'database-password'])(
    'with a file of the wrong name %s fails and lists the valid names',
    async (name) => {
      const { passwords, ...ran } = await migrate({ 'database-password-auth': 'one', [name]: 'two' })
      expect(ran).toEqual({
        code: 1,
        out: '',
        err: expect.stringContaining(`--passwords ${passwords}: ${name} is not`),
      })
      expect(ran.err).toContain('database-password-messaging')
    },
  )

  test('with an empty password fails', async () => {
    const { code, err } = await migrate({ 'database-password-auth': '\n' })
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('the file database-password-auth is empty') })
  })

  test('passes by other secrets that lie there', async () => {
    const { code, out } = await migrate({ 'smtp-password': 'x', 'database-url': 'y' })
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('Passwords set for: no service.') })
  })
})

describe('check-config', () => {
  test('reports what the first start would refuse, with the other faults', async () => {
    const env = {
      PARLEY_AUTH_JWT_SECRET: 'hush-hush-hush-hush-hush-hush-hush-hush',
      REDIS_URL: 'redis://redis:6379',
      PORT: 'http',
      PARLEY_CHAT_INITIAL_USER_USER_NAME: 'channel',
      PARLEY_CHAT_INITIAL_USER_EMAIL: 'x<root@example.com>',
      INITIAL_USER_PASSWORD: 'x'.repeat(1_001),
    }
    const { code, err } = await parley(['check-config'], { env })
    expect(code).toBe(1)
    for (const key of ['server.port', ...['userName', 'email', 'password'].map((name) => `chat.initialUser.${name}`)]) {
      expect(err).toContain(`${key}: `)
    }
  })

  test('reports every fault by key, without values', async () => {
    const env = { PARLEY_AUTH_JWT_SECRET: 'tooshortasecret', PORT: 'http', REDIS_URL: '' }
    const { code, out, err } = await parley(['check-config'], { env })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    for (const key of ['auth.jwtSecret', 'server.port', 'redis.url']) expect(err).toContain(`${key}: `)
    expect(err).not.toContain('tooshortasecret')
  })

  test('shows it without secrets', async () => {
    const env = {
      PARLEY_AUTH_JWT_SECRET: 'hush-hush-hush-hush-hush-hush-hush-hush',
      INITIAL_USER_PASSWORD: 'hush-hush',
      PARLEY_EMAIL_PASSWORD: 'hush-hush',
      PARLEY_STORAGE_S3_SECRET_ACCESS_KEY: 'hush-hush',
      PARLEY_STORAGE_S3_ACCESS_KEY_ID: 'key',
      PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_ID: 'id',
      PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_SECRET: 'hush-hush',
      DATABASE_URL: 'postgres://ann:hush-hush@db/parley?password=hush-hush',
      REDIS_URL: 'redis://:hush-hush@redis:6379',
    }
    expect(await parley(['check-config'], { env })).toMatchObject({ code: 0, err: '' })
    const { code, out } = await parley(['check-config', '--print', '--server.port', '8080'], { env })
    expect(code).toBe(0)
    expect(out).not.toContain('hush')
    expect(JSON.parse(out)).toMatchObject({
      server: { port: 8080 },
      database: { url: expect.stringContaining('@db/parley') },
    })
  })
})

describe('create-admin', () => {
  test('adds one, without a password in modes without passwords', async () => {
    expect(await here(['create-admin', '--email', ' New@Example.com', '--user-name', 'Neo', url()])).toMatchObject({
      code: 0,
    })
    const { id, ...row } = await person('new@example.com')
    expect(row).toMatchObject({ userName: 'Neo', isAdmin: true, passwordHash: null })
    expect(await entries('user.create')).toContainEqual({ actorId: 'operator', targetId: id })
  })

  test.each(['ᵃdmin@example.com', 'a@example..com', 'a@[127.0.0.1]'])('refuses the address %s', async (email) => {
    const result = await here(['create-admin', '--email', email, url()])
    expect(result).toMatchObject({ code: 1, err: expect.stringMatching(/e-mail address/) })
  })

  test('makes an existing user an admin, once', async () => {
    const { db } = database
    await here(['create-admin', '--email=bob@example.com', url()])
    const { id } = await person('bob@example.com')
    await db.updateTable('users').set({ isAdmin: false }).where('id', '=', id).execute()
    for (const words of ['is an admin now', 'is an admin already']) {
      expect(await here(['create-admin', '--email=bob@example.com', url()])).toMatchObject({
        code: 0,
        out: expect.stringContaining(words),
      })
    }
    expect(await person('bob@example.com')).toMatchObject({ isAdmin: true })
    expect(await entries('user.role.update')).toEqual([{ actorId: 'operator', targetId: id }])
  })

  test('takes the password from standard input or a file, in password mode', async () => {
    const env = { PARLEY_AUTH_AUTH_MODE: 'password', INITIAL_USER_PASSWORD: 'of no importance' }
    const file = path.join(folder, 'password')
    await writeFile(file, 'from a file\n')
    const byPipe = await parley(['create-admin', '--email=in@example.com'], { env, input: 'from a pipe\n' })
    const byFile = await here(['create-admin', '--email=file@example.com', '--password-file', file, url()])
    for (const ran of [byPipe, byFile]) expect(ran).toMatchObject({ code: 0, err: '' })
    expect(await verifyPassword('from a pipe', (await person('in@example.com')).passwordHash!)).toBe(true)
    expect(await verifyPassword('from a file', (await person('file@example.com')).passwordHash!)).toBe(true)
    expect(await parley(['create-admin', '--email=no@example.com'], { env })).toMatchObject({ code: 1, out: '' })
    for (const text of ['', 'short\n', 'two\nlines of text', 'x'.repeat(1001)]) {
      await writeFile(file, text)
      const ran = await here(['create-admin', '--email=no@example.com', '--password-file', file, url()])
      expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('the password must') })
    }
    await expect(person('no@example.com')).rejects.toThrow()
  })

  test.each([
    [['--email=nonsense']],
    [['--email=x@example.com', '--user-name=ADA\u202e']],
    [['--email=x@example.com', '--password-file=/nowhere/at/all']],
  ])('%j is 1, in a sentence', async (args) => {
    const { code, err } = await here(['create-admin', ...args, url()])
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^parley: [^\n]+\n$/) })
  })
})

describe('reset-password', () => {
  test('sets it, ends the sessions, and is in the audit log', async () => {
    const { db } = database
    const { id } = await person('ada@example.com')
    await db.insertInto('sessions').values({ id, userId: id, createdAt: 1, lastUsedAt: 1, expiresAt: 9e15 }).execute()
    expect(await parley(['reset-password', '--email=ADA@example.com'], { input: 'brand new words' })).toMatchObject({
      code: 0,
    })
    expect(await verifyPassword('brand new words', (await person('ada@example.com')).passwordHash!)).toBe(true)
    expect(await db.selectFrom('sessions').select('endedAt').executeTakeFirst()).toEqual({
      endedAt: expect.any(Number),
    })
    expect(await entries('user.password.reset')).toEqual([{ actorId: 'operator', targetId: id }])
  })

  test('of an unknown address exits with 1', async () => {
    expect(await here(['reset-password', '--email=none@example.com', url()])).toMatchObject({
      code: 1,
      err: 'parley: no user has the address none@example.com\n',
    })
  })
})

describe('export', () => {
  test('says that its output was closed', async () => {
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'parley.mjs'), 'export'], {
      cwd: folder,
      env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    })
    child.stdout.destroy()
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect({ code, err }).toEqual({ code: 1, err: 'parley: the output cannot be written: write EPIPE\n' })
  })

  test('writes the document to standard output or a file, for its owner alone', async () => {
    const { code, out } = await parley(['export'])
    expect(code).toBe(0)
    const document = JSON.parse(out)
    expect(document.users).toContainEqual(expect.objectContaining({ email: 'ada@example.com' }))
    expect(document.auditLog.at(-1)).toMatchObject({ action: 'export.create', actorId: 'operator' })

    const file = path.join(folder, 'all.json.gz')
    expect(await here(['export', '--out', file, url()])).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(gunzipSync(await readFile(file)).toString()).users).toEqual(document.users)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await here(['export', '--out', file, url()])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--force'),
    })
    expect(await here(['export', '--out', file, '--force', url()])).toMatchObject({ code: 0 })
    expect(await here(['export', '--out', '/nowhere/at/all.json', url()])).toMatchObject({ code: 1, out: '' })
    expect((await readdir(folder)).filter((name) => name.includes('.part'))).toEqual([])
  })

  test('without --force does not replace what exists, even if it cannot be opened', async () => {
    const link = path.join(folder, 'link.json')
    await symlink('nowhere', link)
    expect(await here(['export', '--out', link, url()])).toMatchObject({
      code: 1,
      err: `parley: ${link} already exists: --force replaces it\n`,
    })
    expect(await readlink(link)).toBe('nowhere')
  })

  test('--force replaces no device', async () => {
    const pipe = path.join(folder, 'pipe')
    await once(spawn('mkfifo', [pipe]), 'exit')
    expect(await here(['export', '--out', pipe, '--force', url()])).toMatchObject({
      code: 1,
      err: `parley: ${pipe} is not a file\n`,
    })
    expect((await stat(pipe)).isFIFO()).toBe(true)
  })
})
