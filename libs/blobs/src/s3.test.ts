import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ApiError } from '@parley/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type S3Settings, startObjectStore, startRefusingStore } from './s3.testing.ts'
import { createS3Store } from './s3-store.ts'
import { BlobMissing } from './store.ts'

const options = { size: 4, contentType: 'text/plain' }
const bytes = Buffer.from('here')

async function running() {
  const server = await startObjectStore()
  onTestFinished(() => server.stop())
  return server
}

function openStore(settings: S3Settings, silenceMs?: number) {
  const blobs = createS3Store(settings, silenceMs)
  onTestFinished(() => blobs.close())
  return blobs
}

const refusalsOf = async (blobs: ReturnType<typeof createS3Store>) => {
  const attempts = [
    () => blobs.put('a', bytes, options),
    () => blobs.put('a', Readable.from([bytes]), options),
    () => blobs.get('a'),
    () => blobs.delete(['a']),
  ]
  const refusals = []
  for (const attempt of attempts) refusals.push(await attempt().catch((error: unknown) => error))
  return refusals
}
const refused = [1, 2, 3, 4].map(() => expect.objectContaining({ status: 503, code: 'unavailable' }))

describe('an object store', () => {
  test('that is unavailable is a 503 for callers, and works again when it is back', async () => {
    const server = await running()
    const blobs = openStore(server.settings)
    await blobs.put('a', bytes, options)
    await server.interrupt()
    expect(await refusalsOf(blobs)).toEqual(refused)
    await expect(blobs.check()).rejects.toThrow(/^nothing listens at http:\/\/127/)

    await server.resume()
    await blobs.check()
    await blobs.put('b', bytes, options)
    expect(String(await buffer(await blobs.get('a')))).toBe('here')
  })

  test.each([
    ['a bucket that does not exist', { bucket: 'other' }, /^the bucket "other" does not exist at http/],
    ['an unknown access key', { accessKeyId: 'WRONG' }, /^storage\.s3\.accessKeyId is not known/],
    ['an unknown host', { endpoint: 'http://nowhere.invalid' }, /^the host name of http:\/\/nowhere\.invalid/],
  ])('with %s: its check reports it, callers get 503', async (_what, change, message) => {
    const { settings } = await running()
    const blobs = openStore({ ...settings, ...change })
    await expect(blobs.check()).rejects.toThrow(message)
    expect(await refusalsOf(blobs)).toEqual(refused)
  })

  test.each([
    [403, 'SignatureDoesNotMatch', /^storage\.s3\.secretAccessKey does not belong to the access key/],
    [403, 'AccessDenied', /needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket/],
    [301, 'PermanentRedirect', /is in another region or at another endpoint/],
    [403, 'RequestTimeTooSkewed', /clock/],
    [418, 'SomethingNew', /gives an unexpected answer \(SomethingNew: no\)$/],
  ])('that answers %i %s is explained', async (status, code, message) => {
    const server = await startRefusingStore(status, code)
    onTestFinished(() => server.stop())
    const blobs = openStore(server.settings)
    await expect(blobs.check()).rejects.toThrow(message)
    expect(await refusalsOf(blobs)).toEqual(refused)
  })

  test('is asked again when it is overloaded, except for an upload from a stream, which was consumed', async () => {
    const server = await startRefusingStore(503, 'SlowDown')
    onTestFinished(() => server.stop())
    const blobs = openStore(server.settings)
    await expect(blobs.put('a', bytes, options)).rejects.toThrow(ApiError)
    expect(server.seen).toHaveLength(3)
    await expect(blobs.put('b', Readable.from([bytes]), options)).rejects.toThrow(ApiError)
    expect(server.seen.slice(3)).toEqual(['PUT /files/parley/b?x-id=PutObject'])
  })

  test('leaves the source of a failed upload to the caller, whose request is still to be answered', async () => {
    const server = await startRefusingStore(403, 'AccessDenied')
    onTestFinished(() => server.stop())
    // The response is not read before the upload times out.
    const blobs = openStore(server.settings, 500)
    const source = new Readable({ read() {} })
    source.push(bytes)
    await expect(blobs.put('a', source, { size: 9, contentType: 'text/plain' })).rejects.toThrow(ApiError)
    expect(source.destroyed).toBe(false)
  })

  test('that has an object without bytes has no blob there', async () => {
    const server = await startRefusingStore(416, 'InvalidRange')
    onTestFinished(() => server.stop())
    await expect(openStore(server.settings).get('a')).rejects.toThrow(BlobMissing)
  })

  test('keeps several installations apart by their key prefix', async () => {
    const { settings } = await running()
    const [here, there] = [openStore(settings), openStore({ ...settings, keyPrefix: 'elsewhere/' })]
    await here.put('a', bytes, options)
    await there.put('a', Buffer.from('gone'), options)
    await there.delete(['a'])
    expect(String(await buffer(await here.get('a')))).toBe('here')
  })
})
