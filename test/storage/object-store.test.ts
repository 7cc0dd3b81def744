import { randomBytes } from 'node:crypto'
import { type ObjectStore, type S3Settings, startObjectStore } from '@parley/blobs/testing'
import { samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let store: ObjectStore
const s3 = {} as { -readonly [Key in keyof S3Settings]: S3Settings[Key] }
beforeAll(async () => {
  store = await startObjectStore()
  Object.assign(s3, store.settings)
})
const environment = testEnvironment({ storage: { store: 's3', s3 } })
afterAll(() => store.stop())

const ready = async () => (await environment.people.nobody.get('/health/ready')).body

describe('with files in an object store', () => {
  test('files are stored there, and read whole and in part', async () => {
    const { ann, bob, cat } = environment.people
    const bytes = Buffer.from(randomBytes(2_000_000).toString('base64'))
    const attachment = await ann.uploads('long.txt', bytes)
    await ann.sends(environment.channel.secret, { attachments: [attachment] })
    const path = `/files/${attachment.filename}`

    expect(await store.names()).toContain(`parley/${attachment.filename}`)
    expect((await bob.downloads(path)).bytes.equals(bytes)).toBe(true)
    const part = await bob.downloads(path, { range: 'bytes=1000000-2100000' })
    expect([part.status, part.bytes.equals(bytes.subarray(1_000_000, 2_100_001))]).toEqual([206, true])
    expect((await cat.downloads(path)).status).toBe(403)
  })

  test('an image gets its thumbnail there', async () => {
    const { ann, bob } = environment.people
    const messages = `/channels/${environment.channel.secret.id}/messages`
    const filename = await ann.uploadsImage(messages, 'a.png', samples.png)
    const path = `${messages}/image/${filename}`
    expect((await bob.downloads(path)).bytes.equals(samples.png)).toBe(true)
    await expect
      .poll(async () => (await bob.downloads(`${path}?size=thumb`)).headers['content-type'], { timeout: 20_000 })
      .toBe('image/webp')
    expect(await store.names()).toEqual(expect.arrayContaining([`parley/${filename}`, `parley/${filename}.thumbnail`]))
  })

  test('messages work while it is unavailable, files get 503, and work again when it is available', async () => {
    const { ann, bob } = environment.people
    const attachment = await ann.uploads('notes.txt', 'some notes')
    await ann.sends(environment.channel.open, { attachments: [attachment] })
    const path = `/files/${attachment.filename}`
    expect(await ready()).toMatchObject({ status: 'ok', dependencies: { storage: { status: 'ok', required: false } } })

    await store.interrupt()
    const file = Buffer.from('more').toString('base64')
    const refused = await ann.post('/files', { filename: 'more.txt', file, contentType: 'text/plain' })
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    const unread = await bob.downloads(path)
    expect([unread.status, unread.headers['retry-after']]).toEqual([503, '1'])
    expect(unread.headers['content-disposition']).toBeUndefined()
    await bob.says('we can still talk', environment.channel.open)
    expect(await ready()).toMatchObject({ status: 'degraded', dependencies: { storage: { status: 'unavailable' } } })

    await store.resume()
    expect(String((await bob.downloads(path)).bytes)).toBe('some notes')
    expect(await ready()).toMatchObject({ status: 'ok' })
  })
})
