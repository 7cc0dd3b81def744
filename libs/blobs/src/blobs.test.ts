import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createDatabase } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BlobMissing, type BlobStore, openBlobs } from './index.ts'
import { startObjectStore } from './s3.testing.ts'

interface OpenedStore {
  blobs: BlobStore
  stop(): Promise<void>
}

async function onPostgres(): Promise<OpenedStore> {
  const database = await createDatabase(2)
  const s3 = { region: 'us-east-1', keyPrefix: '', forcePathStyle: false }
  return {
    blobs: openBlobs({ storage: { store: 'postgresql', s3 }, db: database.as('messaging').db }),
    stop: () => database.drop(),
  }
}

async function onS3(): Promise<OpenedStore> {
  const [server, database] = await Promise.all([startObjectStore(), createDatabase(1)])
  const blobs = openBlobs({ storage: { store: 's3', s3: server.settings }, db: database.as('messaging').db })
  return {
    blobs,
    async stop() {
      await blobs.close()
      await server.stop()
      await database.drop()
    },
  }
}

const contentType = 'application/pdf'
const megabyte = 1024 * 1024
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
/** In parts that do not match the size of the chunks. */
const inParts = (bytes: Buffer, partBytes = 70_001) =>
  Readable.from(
    (function* () {
      for (let from = 0; from < bytes.length; from += partBytes) yield bytes.subarray(from, from + partBytes)
    })(),
    { objectMode: false },
  )

describe.each([
  ['PostgreSQL', onPostgres],
  ['S3', onS3],
])('blobs in %s', (_name, open) => {
  let opened: OpenedStore
  let key: string
  let keys = 0
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.stop())
  const newKey = () => {
    keys += 1
    key = `files/blob-${keys}.pdf`
    return key
  }
  const put = (bytes: Buffer) => opened.blobs.put(newKey(), bytes, { size: bytes.length, contentType })
  const read = async (range?: { start: number; end: number }) => buffer(await opened.blobs.get(key, range))

  test.each([1, 262_143, 262_144, 262_145, megabyte, megabyte + 1])('returns %i bytes unchanged', async (size) => {
    const bytes = randomBytes(size)
    await put(bytes)
    expect(sha(await read())).toBe(sha(bytes))
  })

  test('stores 25 MB from a stream and returns them', async () => {
    const bytes = randomBytes(25 * megabyte)
    await opened.blobs.put(newKey(), inParts(bytes), { size: bytes.length, contentType })
    expect(sha(await read())).toBe(sha(bytes))
    const resumed = await read({ start: 20 * megabyte + 1, end: bytes.length - 1 })
    expect(sha(resumed)).toBe(sha(bytes.subarray(20 * megabyte + 1)))
  })

  test('returns any range', async () => {
    const bytes = randomBytes(megabyte + 3)
    await put(bytes)
    const edges = [0, 1, 262_143, 262_144, megabyte - 1, megabyte, bytes.length - 1]
    for (const start of edges) {
      for (const end of edges.filter((edge) => edge >= start)) {
        expect(sha(await read({ start, end })), `${start}-${end}`).toBe(sha(bytes.subarray(start, end + 1)))
      }
    }
    expect(await read({ start: bytes.length - 2, end: 2 ** 40 })).toEqual(bytes.subarray(-2))
  })

  test.each([
    [10, 20],
    [10, 2 ** 40],
    [5, 4],
    [-1, 4],
  ])('refuses the range %i-%i of ten bytes', async (start, end) => {
    await put(Buffer.from('0123456789'))
    await expect(read({ start, end })).rejects.toThrow(RangeError)
    expect(String(await read({ start: 3, end: 9 }))).toBe('3456789')
  })

  test('knows no key that was never put, or is deleted', async () => {
    newKey()
    await expect(read()).rejects.toThrow(BlobMissing)
    await expect(read({ start: 0, end: 1 })).rejects.toThrow(BlobMissing)
    await put(Buffer.from('here'))
    expect(String(await read())).toBe('here')
    await opened.blobs.delete([key, 'files/never-put', key])
    await expect(read()).rejects.toThrow(BlobMissing)
    await opened.blobs.delete([])
  })

  test('deletes many, and only those', async () => {
    const all: string[] = []
    for (let n = 0; n < 45; n++) {
      await put(Buffer.from(`bytes ${n}`))
      all.push(key)
    }
    await opened.blobs.delete(all.slice(1))
    const left = await Promise.allSettled(all.map((name) => opened.blobs.get(name)))
    expect(left.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    key = all[0]!
    expect(String(await read())).toBe('bytes 0')
  })

  test('accepts the same bytes again, also concurrently, while somebody reads them', async () => {
    const bytes = randomBytes(3 * megabyte)
    await put(bytes)
    const options = { size: bytes.length, contentType }
    const reader = await opened.blobs.get(key)
    await Promise.all([
      opened.blobs.put(key, bytes, options),
      opened.blobs.put(key, inParts(bytes), options),
      opened.blobs.put(key, inParts(bytes), options),
    ])
    expect(sha(await buffer(reader))).toBe(sha(bytes))
    expect(sha(await read())).toBe(sha(bytes))
    await opened.blobs.delete([key])
    await expect(read()).rejects.toThrow(BlobMissing)
  })

  test('shows no incomplete bytes', async () => {
    const bytes = randomBytes(megabyte)
    const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>()
    const { promise: half, resolve: halfTaken } = Promise.withResolvers<void>()
    const source = Readable.from(
      (async function* () {
        yield bytes.subarray(0, 600_000)
        halfTaken()
        await rest
        yield bytes.subarray(600_000)
      })(),
      { objectMode: false },
    )
    const written = opened.blobs.put(newKey(), source, { size: bytes.length, contentType })
    await half
    await expect(read()).rejects.toThrow(BlobMissing)
    sendRest()
    await written
    expect(sha(await read())).toBe(sha(bytes))
  })

  test.each([
    ['breaks off', (bytes: Buffer) => brokenOff(bytes), 2 * megabyte, 'the client went away'],
    ['is too short', (bytes: Buffer) => inParts(bytes), 2 * megabyte + 1, 'announced size'],
    ['is too long', (bytes: Buffer) => inParts(bytes), 2 * megabyte - 1, 'announced size'],
    ['is too short at once', (bytes: Buffer) => bytes, 2 * megabyte + 1, 'announced size'],
    ['is empty', () => Buffer.alloc(0), 0, 'must not be empty'],
    ['is an empty stream', () => Readable.from([]), 1, 'must not be empty'],
  ])(
    'keeps nothing of an upload that %s, and accepts the next one under that key',
    async (_what, of, size, message) => {
      const bytes = randomBytes(2 * megabyte)
      await expect(opened.blobs.put(newKey(), of(bytes), { size, contentType })).rejects.toThrow(message)
      await expect(read()).rejects.toThrow(BlobMissing)
      await opened.blobs.put(key, bytes, { size: bytes.length, contentType })
      expect(sha(await read())).toBe(sha(bytes))
    },
  )

  test('serves more readers that do not read than it has connections, and is still there for others', async () => {
    const bytes = randomBytes(megabyte + 1)
    await put(bytes)
    const slow = await Promise.all(Array.from({ length: 120 }, () => opened.blobs.get(key)))
    for (const reader of slow) reader.read(1)
    expect(sha(await read())).toBe(sha(bytes))
    expect(sha(await buffer(slow[7]!)).length).toBe(64)
    for (const reader of slow) reader.destroy()
  })

  test('is found in order', async () => {
    await opened.blobs.check()
  })
})

const brokenOff = (bytes: Buffer) =>
  Readable.from(
    (async function* () {
      yield bytes.subarray(0, 900_000)
      throw new Error('the client went away')
    })(),
    { objectMode: false },
  )
