import { readSvgAttributes } from './svg.ts'

/** In pixels, after the orientation is applied, as a browser shows the image. */
export interface ImageSize {
  width: number
  height: number
}

const readers = {
  'image/png': readPng,
  'image/jpeg': readJpeg,
  'image/webp': readWebp,
  'image/svg+xml': readSvg,
} satisfies Record<string, (bytes: Buffer) => ImageSize | undefined>

type ImageFormat = keyof typeof readers

/** The content types whose size can be read. */
export const imageFormats = Object.keys(readers) as ImageFormat[]

/** Larger values are not believed, because no program can draw such an image. */
const longestSide = 1_000_000

/**
 * Reads the size from the header of an image, in linear time and without decoding. Undefined when the content is of
 * another type, damaged, or has no size.
 */
export function readImageSize(bytes: Buffer, contentType: string): ImageSize | undefined {
  const size = Object.hasOwn(readers, contentType) ? readers[contentType as ImageFormat](bytes) : undefined
  return size && isSide(size.width) && isSide(size.height) ? size : undefined
}

const isSide = (pixels: number) => Number.isInteger(pixels) && pixels >= 1 && pixels <= longestSide

const beginsWith = (bytes: Buffer, text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text

/** The first chunk of a PNG is IHDR (PNG specification, 11.2.1). */
function readPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || !beginsWith(bytes, '\x89PNG\r\n\x1a\n') || !beginsWith(bytes, 'IHDR', 12)) return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Skips the segments of a JPEG up to its frame header (ITU-T T.81, B.2). */
function readJpeg(bytes: Buffer): ImageSize | undefined {
  if (!beginsWith(bytes, '\xff\xd8')) return undefined
  let orientation: number | undefined
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!
    const length = bytes.readUInt16BE(at + 2)
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2
    else if (isFrameHeader(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)]
      return (orientation ?? 1) >= 5 ? { width: height, height: width } : { width, height }
    } else if (marker === 0xd9 || marker === 0xda || length < 2) return undefined
    else {
      if (marker === 0xe1) orientation ??= readOrientation(bytes.subarray(at + 4, at + 2 + length))
      at += 2 + length
    }
  }
  return undefined
}

/** SOF0 to SOF15. The markers DHT, JPG and DAC lie between them and do not count. */
const isFrameHeader = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** The orientation in the first directory of an EXIF segment, from 1 to 8. From 5 on, width and height are swapped. */
function readOrientation(segment: Buffer): number | undefined {
  if (!beginsWith(segment, 'Exif\0\0') || segment.length < 14) return undefined
  const tiff = segment.subarray(6)
  const isLittleEndian = beginsWith(tiff, 'II')
  const read16 = (at: number) => (isLittleEndian ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = isLittleEndian ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  if (directory + 2 > tiff.length) return undefined
  const end = Math.min(directory + 2 + 12 * read16(directory), tiff.length)
  for (let entry = directory + 2; entry + 12 <= end; entry += 12) {
    if (read16(entry) !== 0x0112) continue
    const value = read16(entry + 8)
    return value >= 1 && value <= 8 ? value : undefined
  }
  return undefined
}

/** The first chunk of a WebP: extended, lossless or lossy (RFC 9649, section 2). */
function readWebp(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || !beginsWith(bytes, 'RIFF') || !beginsWith(bytes, 'WEBP', 8)) return undefined
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return bytes[20] === 0x2f ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : undefined
    }
    case 'VP8 ': {
      const [width, height] = [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
      return beginsWith(bytes, '\x9d\x01\x2a', 23) ? { width, height } : undefined
    }
  }
  return undefined
}

/** Reads the attributes of the root element. A missing side is computed from the proportions of `viewBox`. */
function readSvg(bytes: Buffer): ImageSize | undefined {
  const attributes = readSvgAttributes(bytes)
  if (!attributes) return undefined
  const [width, height] = [readLength(attributes.width), readLength(attributes.height)]
  if (width && height) return rounded(width, height)

  const numbers = (attributes.viewbox ?? '')
    .slice(0, 200)
    .trim()
    .split(/[\s,]+/)
    .map(Number)
  const [, , boxWidth, boxHeight] = numbers
  if (numbers.length !== 4 || !boxWidth || !boxHeight) return undefined
  if (width) return rounded(width, (width * boxHeight) / boxWidth)
  if (height) return rounded((height * boxWidth) / boxHeight, height)
  return rounded(boxWidth, boxHeight)
}

const rounded = (width: number, height: number): ImageSize => ({
  width: Math.max(1, Math.round(width)),
  height: Math.max(1, Math.round(height)),
})

/** Converts a CSS length to pixels. Undefined for a percentage and other units that depend on the page. */
function readLength(text = ''): number | undefined {
  const [, number, unit = 'px'] = /^([\d.]{1,20})(px|in|cm|mm|pt|pc)?$/.exec(text.trim()) ?? []
  return number === undefined ? undefined : Number(number) * pixelsOf[unit as keyof typeof pixelsOf]
}

const pixelsOf = { px: 1, in: 96, cm: 96 / 2.54, mm: 96 / 25.4, pt: 96 / 72, pc: 16 }
