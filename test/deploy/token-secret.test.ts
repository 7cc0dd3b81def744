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

const [, program] = /--entrypoint node setup -e '(.*?)'/s.exec(
  readFileSync(path.join(root, 'docs/install.md'), 'utf8'),
)!

/** Runs the program of docs/install.md on the folder, in place of the volumes. */
const change = (env: { NEW?: string; KEEP?: string }) =>
  promisify(execFile)(process.execPath, ['-e', program!.replaceAll('/secrets/', `${folder}/`)], { env })

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
