import type { Readable } from 'node:stream'

/**
 * Bytes under keys; a key is written once and never changed, so readers never see halves. Keys are letters, digits, `.`, `_`,
 * `-` and `/`. So that nothing is kept that nobody knows of: record a key before its bytes are put, and record that they are to be
 * deleted in the transaction that forgets the key.
 */
export interface BlobStore {
  /**
   * Stores bytes; the same key again with the same bytes is harmless. Streams are consumed in bounded memory, and are left to the
   * caller when the store fails. Once it resolves, the bytes outlive a crash.
   * @throws invalid when there are more or fewer bytes than `size`, unavailable when the store is away.
   */
  put(key: string, bytes: Buffer | Readable, options: { size: number; contentType: string }): Promise<void>
  /**
   * `range` is inclusive byte positions; an end beyond the last byte means the last byte. No connection is held for a
   * reader who is slow. A blob that is deleted meanwhile ends the stream with an error.
   * @throws BlobMissing, RangeError when nothing lies in the range, unavailable when the store is away.
   */
  get(key: string, range?: ByteRange): Promise<Readable>
  /** Unknown keys are ignored. @throws unavailable when the store is away: some may be deleted then. */
  delete(keys: readonly string[]): Promise<void>
  /** @throws Error that says what to put right: store away, no such bucket, wrong key, missing rights. */
  check(): Promise<void>
  /** Removes what uploads that broke off have left, begun longer ago than this; answers how many. */
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
