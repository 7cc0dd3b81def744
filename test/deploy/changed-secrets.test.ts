import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { root } from './rendered.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'parley-token-secret-'))
  for (const service of ['auth', 'gateway']) {
    mkdirSync(path.join(folder, service))
    writeFileSync(path.join(folder, service, 'jwt-secret'), 'first', { mode: 0o444 })
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

const [tokenSecret, rolePassword] = [
  ...readFileSync(path.join(root, 'docs/install.md'), 'utf8').matchAll(/--entrypoint node setup -e '(.*?)'/gs),
].map(([, program]) => program!)

/** Runs a program of docs/install.md on the folder, in place of the volumes. */
const run = (program: string | undefined, env: Record<string, string>) =>
  promisify(execFile)(process.execPath, ['-e', program!.replaceAll('/secrets/', `${folder}/`)], { env })
const change = (env: { NEW: string } | { KEEP: string }) => run(tokenSecret, env)

const secrets = () =>
  ['auth', 'gateway'].map((service) => JSON.parse(readFileSync(path.join(folder, service, 'jwt-secret'), 'utf8')))

test('the command of docs/install.md puts a new token secret before all earlier ones, each time', async () => {
  await change({ NEW: 'second' })
  expect(secrets()).toEqual([
    ['second', 'first'],
    ['second', 'first'],
  ])
  await change({ NEW: 'third' })
  expect(secrets()).toEqual([
    ['third', 'second', 'first'],
    ['third', 'second', 'first'],
  ])
})

test('the same command removes the old token secrets', async () => {
  await change({ NEW: 'second' })
  await change({ KEEP: '1' })
  expect(secrets()).toEqual([['second'], ['second']])
})

test('the other command changes the password of one role, where the service and the migration read it', async () => {
  const files = {
    'messaging/database-url': 'postgres://parley_messaging:old@postgres:5432/parley',
    'auth/database-url': 'postgres://parley_auth:old@postgres:5432/parley',
    'migrate/database-password-messaging': 'old',
    'migrate/database-password-auth': 'old',
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    writeFileSync(path.join(folder, file), text, { mode: 0o444 })
  }
  await run(rolePassword, { NAME: 'messaging', NEW: 'new' })
  const texts = Object.keys(files).map((file) => readFileSync(path.join(folder, file), 'utf8'))
  expect(texts).toEqual([
    'postgres://parley_messaging:new@postgres:5432/parley',
    'postgres://parley_auth:old@postgres:5432/parley',
    'new',
    'old',
  ])
})
