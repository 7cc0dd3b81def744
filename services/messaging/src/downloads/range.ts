/** Inclusive byte positions. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * What the header `Range` asks of something of this size (RFC 9110, section 14): one range; undefined for all of it, which
 * is also what several ranges and what is no range of bytes get; `unsatisfiable` when nothing lies in the range.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  // No white space, as the grammar says: looked for in two places, a header full of it would take half a second.
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return undefined
  if (Number(first) >= size) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
