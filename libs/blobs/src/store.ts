import { Readable } from 'node:stream'
import { invalid } from '@parley/contract'

/**
 * Bytes under keys. A key is written once and never changed, so readers see all bytes or none. Keys have letters,
 * digits, `.`, `_`, `-` and `/`. Record a key before its bytes are stored, and record the deletion of the bytes in the
 * transaction that deletes the key. Otherwise bytes without a row could remain.
 */
export interface BlobStore {
  /**
   * Stores bytes. Idempotent for the same key and bytes. A stream is read in bounded memory, and is not destroyed when
   * the store fails. Once the promise resolves, the bytes survive a crash.
   * @throws invalid when there are more or fewer bytes than `size`, unavailable when the store does not answer.
   */
  put(key: string, bytes: Buffer | Readable, options: { size: number; contentType: string }): Promise<void>
  /**
   * Reads bytes. `range` is inclusive, and an end beyond the last byte means the last byte. A slow reader holds no
   * connection. When the blob is deleted meanwhile, the stream ends with an error.
   * @throws BlobMissing, RangeError when nothing lies in the range, unavailable when the store does not answer.
   */
  get(key: string, range?: ByteRange): Promise<Readable>
  /** Deletes blobs. Ignores unknown keys. @throws unavailable when the store does not answer; some keys may be deleted then. */
  delete(keys: readonly string[]): Promise<void>
  /**
   * Checks the store. @throws Error that tells the operator the problem: no answer, no such bucket, wrong key, missing
   * rights.
   */
  check(): Promise<void>
  /** Deletes unfinished blobs that are older than this. Returns their number. */
  sweep(olderThanMs: number): Promise<number>
  close(): Promise<void>
}

export interface ByteRange {
  start: number
  end: number
}

/** There are no bytes under this key. */
export class BlobMissing extends Error {
  readonly key: string

  constructor(key: string) {
    super('there are no bytes under this key')
    this.name = 'BlobMissing'
    this.key = key
  }
}

/**
 * Splits bytes into pieces of one length. The last piece may be shorter. A stream is read as fast as the caller takes
 * the pieces. It is not destroyed when the caller stops early, because it may be a request that still needs its response.
 * @throws invalid when there are more or fewer bytes than `size`.
 */
export async function* splitIntoPieces(
  bytes: Buffer | Readable,
  size: number,
  pieceBytes: number,
): AsyncGenerator<Buffer> {
  if (Buffer.isBuffer(bytes)) refuseOtherSize(bytes.length, size)
  let held: Buffer[] = []
  let heldBytes = 0
  let total = 0
  for await (const given of Buffer.isBuffer(bytes) ? [bytes] : bytes.iterator({ destroyOnReturn: false })) {
    let rest: Buffer = typeof given === 'string' ? Buffer.from(given) : given
    total += rest.length
    if (total > size) refuseOtherSize(total, size)
    while (heldBytes + rest.length >= pieceBytes) {
      const missing = pieceBytes - heldBytes
      yield held.length === 0 ? rest.subarray(0, missing) : Buffer.concat([...held, rest.subarray(0, missing)])
      rest = rest.subarray(missing)
      held = []
      heldBytes = 0
    }
    if (rest.length > 0) held.push(rest)
    heldBytes += rest.length
  }
  refuseOtherSize(total, size)
  if (heldBytes > 0) yield Buffer.concat(held)
}

/** @throws invalid, also for an empty blob, which has no range to read. */
export function refuseOtherSize(actual: number, size: number): void {
  if (actual === 0) throw invalid('The file must not be empty')
  if (actual !== size) throw invalid('The file does not have the announced size')
}

/** A stream that holds one piece at a time. */
export const streamOf = (pieces: AsyncIterable<Buffer>): Readable =>
  Readable.from(pieces, { objectMode: false, highWaterMark: 1 })

/** The part of a range that exists. @throws RangeError when there is none. */
export function clampRange(
  { start, end }: { start: number; end: number },
  size: number,
): { start: number; end: number } {
  if (start < 0 || start > end || start >= size) throw new RangeError(`no bytes ${start}-${end} among ${size}`)
  return { start, end: Math.min(end, size - 1) }
}

/** The key of one part of an export's compressed document. The worker writes it, and the admin service reads it. */
export const exportPartKey = ({ exportId, attempt, n }: { exportId: string; attempt: number; n: number }) =>
  `exports/${exportId}/${attempt}/${n}`
