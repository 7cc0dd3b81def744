import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { Config } from '@parley/config'
import { cut, refuseOtherSize, streamOf, within } from './pieces.ts'
import { explain, isBeyondEnd, isMissing, storageAway } from './s3.faults.ts'
import { BlobMissing, type BlobStore, type ByteRange } from './store.ts'

/**
 * Read with one request: a reader who is slow has the piece in our memory, but no connection to the store. Larger pieces would
 * save requests, smaller ones memory.
 */
const pieceBytes = 1024 * 1024
const deletesAtOnce = 8

/**
 * Keeps bytes in a bucket of an object store that speaks S3. It uses nothing but GetObject, PutObject and DeleteObject, plain: what
 * newer SDKs add by default (checksum trailers), and the many ways to delete many, not every store understands.
 */
export function createS3Store(s3: Config['storage']['s3']): BlobStore {
  const client = connect(s3)
  const Bucket = s3.bucket!
  const place = { bucket: Bucket, endpoint: s3.endpoint ?? `AWS ${s3.region}` }
  const nameOf = (key: string) => s3.keyPrefix + key

  async function getPiece(key: string, { start, end }: ByteRange) {
    const input = { Bucket, Key: nameOf(key), Range: `bytes=${start}-${end}` }
    const { Body, ContentRange } = await client.send(new GetObjectCommand(input))
    const size = Number(/\/(\d+)$/.exec(ContentRange ?? '')?.[1])
    if (!Body || Number.isNaN(size)) throw new Error('the object store does not serve ranges')
    const bytes = Buffer.from(await Body.transformToByteArray())
    // Some servers answer a range that they cannot read with everything.
    return { bytes: bytes.subarray(0, end + 1 - start), size }
  }

  async function* readPieces(key: string, first: Buffer, { start, end }: ByteRange) {
    yield first
    for (let from = start + first.length; from <= end; from += pieceBytes) {
      const to = Math.min(from + pieceBytes - 1, end)
      const { bytes } = await getPiece(key, { start: from, end: to }).catch(asRefusal(key))
      yield bytes
    }
  }

  return {
    async put(key, bytes, { size, contentType }) {
      const input = { Bucket, Key: nameOf(key), ContentLength: size, ContentType: contentType }
      if (Buffer.isBuffer(bytes)) {
        refuseOtherSize(bytes.length, size)
        await client.send(new PutObjectCommand({ ...input, Body: bytes })).catch(asRefusal(key))
        return
      }
      // The SDK does not hear when its source fails, and would wait for bytes that never come.
      const broken = new AbortController()
      const source = streamOf(cut(bytes, size, 64 * 1024)).once('error', (error) => broken.abort(error))
      try {
        await client.send(new PutObjectCommand({ ...input, Body: source }), { abortSignal: broken.signal })
      } catch (error) {
        throw broken.signal.aborted ? broken.signal.reason : storageAway(error)
      } finally {
        source.destroy()
      }
    },

    async get(key, range = { start: 0, end: Number.MAX_SAFE_INTEGER }) {
      if (range.start < 0 || range.start > range.end) within(range, 0)
      const wanted = { start: range.start, end: Math.min(range.end, range.start + pieceBytes - 1) }
      const { bytes, size } = await getPiece(key, wanted).catch(asRefusal(key, wanted.start))
      return streamOf(readPieces(key, bytes, within(range, size)))
    },

    async delete(keys) {
      const waiting = [...keys]
      const deleteNext = async () => {
        for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
          const deletion = client.send(new DeleteObjectCommand({ Bucket, Key: nameOf(key) }))
          await deletion.catch((error) => {
            if (!isMissing(error)) throw storageAway(error)
          })
        }
      }
      await Promise.all(Array.from({ length: deletesAtOnce }, deleteNext))
    },

    // That a key is unknown is only said to those who may list the bucket; `get` depends on it.
    async check() {
      const probe = new GetObjectCommand({ Bucket, Key: nameOf('is-anything-here') })
      await client.send(probe).then(
        ({ Body }) => Body?.transformToByteArray(),
        (error) => {
          if (!isMissing(error)) throw explain(error, place)
        },
      )
    },

    // An object is there whole or not at all.
    async sweep() {
      return 0
    },

    async close() {
      client.destroy()
    },
  }
}

const asRefusal = (key: string, start?: number) => (error: unknown) => {
  // No blob is empty, but some stores show an upload that broke off as an object without bytes.
  if (isMissing(error) || (isBeyondEnd(error) && start === 0)) throw new BlobMissing(key)
  if (isBeyondEnd(error)) throw new RangeError('no bytes lie in this range', { cause: error })
  throw storageAway(error)
}

/** A client for the configured store. Nothing is connected until it is first used. */
export function connect({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
  forcePathStyle,
}: Config['storage']['s3']): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle,
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey } }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    // It would write to the console what it throws as well.
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    requestHandler: {
      connectionTimeout: 3_000,
      /** Of silence. */
      socketTimeout: 20_000,
      httpAgent: { keepAlive: true, maxSockets: 100 },
      httpsAgent: { keepAlive: true, maxSockets: 100 },
    },
  })
}
