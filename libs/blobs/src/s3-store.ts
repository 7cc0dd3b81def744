import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { Config } from '@parley/config'
import { unavailable } from '@parley/contract'
import {
  BlobMissing,
  type BlobStore,
  type ByteRange,
  clampRange,
  refuseOtherSize,
  splitIntoPieces,
  streamOf,
} from './store.ts'

/** Bytes that one request reads. A slow reader holds one piece in memory and no connection to the store. */
const pieceBytes = 1024 * 1024
const deletesAtOnce = 8
/** A request to the store fails after this time without an answer. */
const usualSilenceMs = 20_000

/**
 * Keeps bytes in a bucket of an S3-compatible object store. It uses GetObject, PutObject and DeleteObject only, because not every
 * store supports checksum trailers (the default of newer SDKs) or the deletion of several objects at once.
 */
export function createS3Store(s3: Config['storage']['s3'], silenceMs = usualSilenceMs): BlobStore {
  const client = connect(s3, silenceMs)
  const Bucket = s3.bucket!
  const location = { bucket: Bucket, endpoint: s3.endpoint ?? `AWS ${s3.region}` }
  const nameOf = (key: string) => s3.keyPrefix + key

  async function getPiece(key: string, { start, end }: ByteRange) {
    const input = { Bucket, Key: nameOf(key), Range: `bytes=${start}-${end}` }
    const { Body, ContentRange } = await client.send(new GetObjectCommand(input))
    const size = Number(/\/(\d+)$/.exec(ContentRange ?? '')?.[1])
    if (!Body || Number.isNaN(size)) throw new Error('the object store does not serve ranges')
    const bytes = Buffer.from(await Body.transformToByteArray())
    // Some servers return the whole object when they cannot read the range.
    return { bytes: bytes.subarray(0, end + 1 - start), size }
  }

  async function* readPieces(key: string, first: Buffer, { start, end }: ByteRange) {
    yield first
    for (let from = start + first.length; from <= end; from += pieceBytes) {
      const to = Math.min(from + pieceBytes - 1, end)
      const { bytes } = await getPiece(key, { start: from, end: to }).catch(toStoreError(key))
      yield bytes
    }
  }

  return {
    async put(key, bytes, { size, contentType }) {
      const input = { Bucket, Key: nameOf(key), ContentLength: size, ContentType: contentType }
      if (Buffer.isBuffer(bytes)) {
        refuseOtherSize(bytes.length, size)
        await client.send(new PutObjectCommand({ ...input, Body: bytes })).catch(toStoreError(key))
        return
      }
      // The SDK ignores an error of the source, and would wait for its bytes for ever.
      const broken = new AbortController()
      const source = streamOf(splitIntoPieces(bytes, size, 64 * 1024)).once('error', (error) => broken.abort(error))
      try {
        await client.send(new PutObjectCommand({ ...input, Body: source }), { abortSignal: broken.signal })
      } catch (error) {
        throw broken.signal.aborted ? broken.signal.reason : storageUnavailable(error)
      } finally {
        source.destroy()
      }
    },

    async get(key, range = { start: 0, end: Number.MAX_SAFE_INTEGER }) {
      if (range.start < 0 || range.start > range.end) clampRange(range, 0)
      const wanted = { start: range.start, end: Math.min(range.end, range.start + pieceBytes - 1) }
      const { bytes, size } = await getPiece(key, wanted).catch(toStoreError(key, wanted.start))
      return streamOf(readPieces(key, bytes, clampRange(range, size)))
    },

    async delete(keys) {
      const remaining = [...keys]
      const deleteNext = async () => {
        for (let key = remaining.shift(); key !== undefined; key = remaining.shift()) {
          const deletion = client.send(new DeleteObjectCommand({ Bucket, Key: nameOf(key) }))
          await deletion.catch((error) => {
            if (!isMissing(error)) throw storageUnavailable(error)
          })
        }
      }
      await Promise.all(Array.from({ length: deletesAtOnce }, deleteNext))
    },

    // The store reports an unknown key as such only to clients with the right to list the bucket. `get` needs that.
    async check() {
      const probe = new GetObjectCommand({ Bucket, Key: nameOf('is-anything-here') })
      await client.send(probe).then(
        ({ Body }) => Body?.transformToByteArray(),
        (error) => {
          if (!isMissing(error)) throw explain(error, location)
        },
      )
    },

    // S3 has no unfinished objects.
    async sweep() {
      return 0
    },

    async close() {
      client.destroy()
    },
  }
}

const toStoreError = (key: string, start?: number) => (error: unknown) => {
  // No blob is empty, but some stores return an unfinished upload as an object without bytes.
  if (isMissing(error) || (isBeyondEnd(error) && start === 0)) throw new BlobMissing(key)
  if (isBeyondEnd(error)) throw new RangeError('no bytes lie in this range', { cause: error })
  throw storageUnavailable(error)
}

/** A client for the configured store. It connects at its first use. */
export function connect(
  { endpoint, region, accessKeyId, secretAccessKey, forcePathStyle }: Config['storage']['s3'],
  silenceMs = usualSilenceMs,
): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle,
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey } }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    // The default logger writes errors to the console, although they are thrown too.
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    requestHandler: {
      connectionTimeout: 3_000,
      socketTimeout: silenceMs,
      httpAgent: { keepAlive: true, maxSockets: 100 },
      httpsAgent: { keepAlive: true, maxSockets: 100 },
    },
  })
}

/** 503 for the client, with the cause for the log. */
const storageUnavailable = (cause: unknown) =>
  Object.assign(unavailable('Files cannot be reached right now. Please try again'), { cause })

const isMissing = (error: unknown) => codeOf(error) === 'NoSuchKey'

const isBeyondEnd = (error: unknown) => codeOf(error) === 'InvalidRange'

interface BucketLocation {
  bucket: string
  endpoint: string
}

/** An error that tells the operator what to change. */
function explain(error: unknown, { bucket, endpoint }: BucketLocation): Error {
  const fault = faults[codeOf(error) ?? ''] ?? `the object store at ${endpoint} gives an unexpected answer`
  const detail = error instanceof Error ? ` (${error.name}: ${error.message || 'no message'})` : ''
  return new Error(`${fault.replaceAll('BUCKET', bucket).replaceAll('ENDPOINT', endpoint)}${detail}`, { cause: error })
}

const faults: Record<string, string> = {
  NoSuchBucket: 'the bucket "BUCKET" does not exist at ENDPOINT: create it or correct storage.s3.bucket',
  InvalidAccessKeyId: 'storage.s3.accessKeyId is not known at ENDPOINT',
  SignatureDoesNotMatch: 'storage.s3.secretAccessKey does not belong to the access key (or storage.s3.region is wrong)',
  AccessDenied:
    'the access key may not use the bucket "BUCKET": it needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket',
  PermanentRedirect: 'the bucket "BUCKET" is in another region or at another endpoint than configured',
  AuthorizationHeaderMalformed: 'storage.s3.region is not the region of the bucket "BUCKET"',
  RequestTimeTooSkewed: 'the clock of this machine and that of ENDPOINT are too far apart',
  CredentialsProviderError: 'no credentials were found: set storage.s3.accessKeyId and storage.s3.secretAccessKey',
  ECONNREFUSED: 'nothing listens at ENDPOINT',
  ENOTFOUND:
    'the host name of ENDPOINT (with the bucket in front of it, unless storage.s3.forcePathStyle) is not known',
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof S3ServiceException) return error.name
  const { code, name } = error as { code?: unknown; name?: string }
  return typeof code === 'string' ? code : name
}
