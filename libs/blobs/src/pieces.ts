import { Readable } from 'node:stream'
import { invalid } from '@parley/contract'

/**
 * Cuts bytes into pieces of one length, the last one shorter. A stream is read as fast as pieces are taken; it is not destroyed
 * when they are no longer taken, because it may be a request that still awaits its answer.
 * @throws invalid when there are more or fewer bytes than `size`.
 */
export async function* cut(bytes: Buffer | Readable, size: number, pieceBytes: number): AsyncGenerator<Buffer> {
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

/** @throws invalid, also when there is nothing at all: an empty blob has no range that could be read. */
export function refuseOtherSize(actual: number, size: number): void {
  if (actual === 0) throw invalid('The file must not be empty')
  if (actual !== size) throw invalid('The file is not as long as was announced')
}

/** A stream that asks for a piece when the one before has been taken. */
export const streamOf = (pieces: AsyncIterable<Buffer>): Readable =>
  Readable.from(pieces, { objectMode: false, highWaterMark: 1 })

/** The part of a range that exists. @throws RangeError when there is none. */
export function within({ start, end }: { start: number; end: number }, size: number): { start: number; end: number } {
  if (start < 0 || start > end || start >= size) throw new RangeError(`no bytes ${start}-${end} among ${size}`)
  return { start, end: Math.min(end, size - 1) }
}
