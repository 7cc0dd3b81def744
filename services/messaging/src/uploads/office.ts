import { inflateRawSync } from 'node:zlib'

/** An office document has a few dozen parts; a long presentation has a few thousand. */
const maxParts = 10_000
const longestName = 1_024
/** The largest list of content types, in bytes, packed and unpacked. */
const maxBytes = 1024 * 1024
const contentTypesName = '[content_types].xml'

/** The formats of office documents, with the names that their content types use. */
export type OfficeFormat = 'wordprocessingml.document' | 'spreadsheetml.sheet' | 'presentationml.presentation'

/** The usual name of the main part. */
const usualMainPart: Record<OfficeFormat, string> = {
  'wordprocessingml.document': 'word/document.xml',
  'spreadsheetml.sheet': 'xl/workbook.xml',
  'presentationml.presentation': 'ppt/presentation.xml',
}

/**
 * Whether a ZIP archive is an office document of this format: it has `[Content_Types].xml`, which names a main part of the format, and
 * that part (ECMA-376, part 2). Only the directory is read, and at most 1 MB is unpacked, whatever the archive claims about itself.
 */
export function isOfficeDocument(bytes: Buffer, format: OfficeFormat): boolean {
  const archive = readDirectory(bytes)
  const types = archive && readContentTypes(bytes, archive)
  if (!types) return false
  const wanted = `application/vnd.openxmlformats-officedocument.${format}.main+xml`
  const usual = usualMainPart[format]
  return types.some(({ element, name, contentType }) => {
    if (contentType !== wanted) return false
    return element === 'Override' ? archive.names.has(name) : usual.endsWith(`.${name}`) && archive.names.has(usual)
  })
}

interface Archive {
  /** Names of its parts in lower case, because they are not case-sensitive. */
  names: Set<string>
  contentTypes: Entry
}

interface Entry {
  /** The position of its local header. */
  start: number
  packedSize: number
  method: number
}

/**
 * Reads the directory at the end of an archive. Undefined when the bytes are not an archive, or the archive has too
 * many parts or no content types.
 */
function readDirectory(bytes: Buffer): Archive | undefined {
  let at = findDirectory(bytes)
  const names = new Set<string>()
  let contentTypes: Entry | undefined
  for (let count = 0; at !== undefined && has(bytes, at, 46) && bytes.readUInt32LE(at) === 0x02014b50; count++) {
    const nameLength = bytes.readUInt16LE(at + 28)
    if (count === maxParts || nameLength > longestName) return undefined
    const nameEnd = at + 46 + nameLength
    const name = partName(bytes.toString('utf8', at + 46, nameEnd))
    names.add(name)
    if (name === contentTypesName) contentTypes = readEntry(bytes, at)
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return contentTypes && { names, contentTypes }
}

/** Finds where the directory begins. The record at the end of the archive says so; a comment may follow the record. */
function findDirectory(bytes: Buffer): number | undefined {
  const end = bytes.lastIndexOf('PK\x05\x06', Math.max(0, bytes.length - 22), 'latin1')
  if (end === -1 || end < bytes.length - 22 - 0xffff) return undefined
  const start = bytes.readUInt32LE(end + 16)
  if (start !== 0xffffffff) return start
  // ZIP64: a locator before the record points to a longer record.
  if (end < 20 || bytes.readUInt32LE(end - 20) !== 0x07064b50) return undefined
  const record = readPosition(bytes, end - 12)
  if (record === undefined || !has(bytes, record, 56) || bytes.readUInt32LE(record) !== 0x06064b50) return undefined
  return readPosition(bytes, record + 48)
}

/** Reads an entry of the directory. Undefined when it is encrypted. */
function readEntry(bytes: Buffer, at: number): Entry | undefined {
  if ((bytes.readUInt16LE(at + 8) & 1) !== 0) return undefined
  let packedSize: number | undefined = bytes.readUInt32LE(at + 20)
  let start: number | undefined = bytes.readUInt32LE(at + 42)
  let long = findZip64(bytes, at)
  if (bytes.readUInt32LE(at + 24) === 0xffffffff) long += 8
  if (packedSize === 0xffffffff) {
    packedSize = readPosition(bytes, long)
    long += 8
  }
  if (start === 0xffffffff) start = readPosition(bytes, long)
  return packedSize === undefined || start === undefined
    ? undefined
    : { start, packedSize, method: bytes.readUInt16LE(at + 10) }
}

/** Finds the long sizes of an entry (ZIP64). They replace sizes whose bits are all ones. */
function findZip64(bytes: Buffer, at: number): number {
  let field = at + 46 + bytes.readUInt16LE(at + 28)
  const end = field + bytes.readUInt16LE(at + 30)
  while (field < end && has(bytes, field, 4) && bytes.readUInt16LE(field) !== 1)
    field += 4 + bytes.readUInt16LE(field + 2)
  return field + 4
}

/** Reads a number of eight bytes. Undefined when it is not a position within these bytes. */
function readPosition(bytes: Buffer, at: number): number | undefined {
  if (!has(bytes, at, 8)) return undefined
  const position = bytes.readBigUInt64LE(at)
  return position > bytes.length ? undefined : Number(position)
}

interface ContentType {
  element: 'Override' | 'Default'
  /** The name of a part for an Override, the extension of parts for a Default. */
  name: string
  contentType: string
}

function readContentTypes(bytes: Buffer, { contentTypes: { start, packedSize, method } }: Archive) {
  if (!has(bytes, start, 30) || packedSize > maxBytes) return undefined
  const from = start + 30 + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28)
  const xml = unpack(bytes.subarray(from, from + packedSize), method)
  return xml && parseContentTypes(xml)
}

function unpack(packed: Buffer, method: number): Buffer | undefined {
  if (method === 0) return packed
  if (method !== 8) return undefined
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes })
  } catch {
    // It is damaged, or larger than any list of content types.
    return undefined
  }
}

function parseContentTypes(xml: Buffer): ContentType[] {
  const isUtf16 = xml.toString('latin1', 0, 2) === '\xff\xfe'
  const types: ContentType[] = []
  for (const [, element, attributes] of xml.toString(isUtf16 ? 'utf16le' : 'utf8').matchAll(elements)) {
    const values = new Map<string, string>()
    for (const [, name, quoted] of attributes!.matchAll(attribute))
      values.set(name!, quoted!.slice(1, -1).toLowerCase())
    const name = partName(values.get(element === 'Override' ? 'PartName' : 'Extension') ?? '')
    types.push({ element: element as ContentType['element'], name, contentType: values.get('ContentType') ?? '' })
  }
  return types
}

const elements = /<(?:[\w.-]+:)?(Override|Default)\s([^<>]*)>/g
const attribute = /(PartName|Extension|ContentType)\s*=\s*("[^"]*"|'[^']*')/g

/** Normalises the name of a part, so that the directory and the list of content types spell it in the same way. */
const partName = (text: string) => text.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()

const has = (bytes: Buffer, at: number, length: number) => at + length <= bytes.length
