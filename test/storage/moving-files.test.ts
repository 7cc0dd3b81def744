import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { openBlobs } from '@parley/blobs'
import { startObjectStore } from '@parley/blobs/testing'
import { createDatabase } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../src/launch.ts'

const [, program] = /```js\n(.*?)```/s.exec(readFileSync(path.join(root, 'docs/storage.md'), 'utf8'))!

test('the program of docs/storage.md copies all files from PostgreSQL to a bucket, also a second time', async () => {
  const { db, url, drop } = await createDatabase()
  onTestFinished(drop)
  const store = await startObjectStore()
  onTestFinished(() => store.stop())
  const { settings } = store
  const [before, after] = (['postgresql', 's3'] as const).map((kind) =>
    openBlobs({ storage: { store: kind, s3: settings }, db }),
  )
  onTestFinished(() => after!.close())
  const files = { 'large.txt': randomBytes(600_000), 'avatars/1.64': Buffer.from('small') }
  for (const [key, bytes] of Object.entries(files))
    await before!.put(key, bytes, { size: bytes.length, contentType: 'text/plain' })

  const copy = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: url,
        PARLEY_STORAGE_S3_ENDPOINT: settings.endpoint,
        PARLEY_STORAGE_S3_BUCKET: settings.bucket,
        PARLEY_STORAGE_S3_KEY_PREFIX: settings.keyPrefix,
        PARLEY_STORAGE_S3_ACCESS_KEY_ID: settings.accessKeyId,
        PARLEY_STORAGE_S3_SECRET_ACCESS_KEY: settings.secretAccessKey,
        PARLEY_STORAGE_S3_FORCE_PATH_STYLE: 'true',
      },
    })
    child.stdin.end(program)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    return out + err
  }
  expect(await copy()).toBe('2 files were copied\n')
  expect(await copy()).toBe('2 files were copied\n')
  for (const [key, bytes] of Object.entries(files))
    expect((await buffer(await after!.get(key))).equals(bytes)).toBe(true)
})
