import { isUtf8 } from 'node:buffer'
import { type fileExtensions, type imageExtensions, invalid } from '@parley/contract'
import { isSvg } from '@parley/images'
import { fileTypeFromBuffer } from 'file-type'
import { isOfficeDocument, type OfficeFormat } from './office.ts'

interface Format {
  contentType: string
  /** Whether the content has this format. `found` is the extension that file-type gives it, if any. */
  fits(bytes: Buffer, found: string | undefined): boolean
}

const foundAs = (...extensions: string[]) => ({
  fits: (_bytes: Buffer, found: string | undefined) => found !== undefined && extensions.includes(found),
})
/** An archive with the parts of an office document. With a password, the document is in a container of the older kind. */
const office = (format: OfficeFormat): Format => ({
  contentType: `application/vnd.openxmlformats-officedocument.${format}`,
  fits: (bytes, found) => (found === 'zip' ? isOfficeDocument(bytes, format) : found === 'cfb' && isLocked(bytes)),
})
/**
 * Text has no control characters. PDFs are excluded, because some of them have none either. Other formats that
 * file-type finds by the first letters do not count: the file is more likely a text that begins with these letters,
 * such as `MAC address` or `BMI`.
 */
const text = { fits: (bytes: Buffer, found: string | undefined) => found !== 'pdf' && isText(bytes) }
const markdown = { contentType: 'text/markdown', ...text }
const jpeg = { contentType: 'image/jpeg', ...foundAs('jpg') }

/** The formats of attachments, by extension. */
const fileFormats = formatsOf<(typeof fileExtensions)[number]>({
  pdf: { contentType: 'application/pdf', ...foundAs('pdf') },
  txt: { contentType: 'text/plain', ...text },
  md: markdown,
  markdown: markdown,
  csv: { contentType: 'text/csv', ...text },
  json: { contentType: 'application/json', fits: (bytes, found) => text.fits(bytes, found) && isJson(bytes) },
  zip: { contentType: 'application/zip', fits: (bytes) => isArchive(bytes) },
  doc: { contentType: 'application/msword', ...foundAs('cfb') },
  xls: { contentType: 'application/vnd.ms-excel', ...foundAs('cfb') },
  ppt: { contentType: 'application/vnd.ms-powerpoint', ...foundAs('cfb') },
  docx: office('wordprocessingml.document'),
  xlsx: office('spreadsheetml.sheet'),
  pptx: office('presentationml.presentation'),
})

const imageFormats = formatsOf<(typeof imageExtensions)[number]>({
  jpg: jpeg,
  jpeg: jpeg,
  png: { contentType: 'image/png', ...foundAs('png', 'apng') },
  webp: { contentType: 'image/webp', ...foundAs('webp') },
  svg: { contentType: 'image/svg+xml', fits: (bytes) => isSvg(bytes) },
})

function formatsOf<Extension extends string>(formats: Record<Extension, Format>): Map<string, Format> {
  return new Map(Object.entries<Format>(formats))
}

/**
 * The content type of a file. @throws ApiError 400 when its extension and its content do not match, or the format is
 * not accepted.
 */
export const recogniseFile = (bytes: Buffer, extension: string) => recognise(fileFormats, 'file', bytes, extension)

/** The content type of an image. @throws as `recogniseFile`. */
export const recogniseImage = (bytes: Buffer, extension: string) => recognise(imageFormats, 'image', bytes, extension)

/** The content type of an image without a name. @throws ApiError 400 when it is not an image of an accepted format. */
export async function recogniseThumbnail(bytes: Buffer): Promise<string> {
  const found = await recognisedExtension(bytes)
  for (const { contentType, fits } of imageFormats.values()) if (fits(bytes, found)) return contentType
  throw invalid(`thumbnail must be an image in one of these formats: ${[...imageFormats.keys()].join(', ')}`)
}

async function recognise(formats: Map<string, Format>, what: string, bytes: Buffer, extension: string) {
  const format = formats.get(extension)
  if (!format) throw invalid(`filename must end in one of: ${[...formats.keys()].join(', ')}`)
  if (bytes.length === 0) throw invalid(`The ${what} must not be empty`)
  if (!format.fits(bytes, await recognisedExtension(bytes))) {
    throw invalid(`The content of the ${what} does not match the extension of its name: ${extension}`)
  }
  return format.contentType
}

/**
 * The extension that file-type finds. It throws on some damaged files; these count as unknown. It does not get
 * archives, because it would unpack their contents.
 */
const recognisedExtension = async (bytes: Buffer) =>
  isArchive(bytes) ? 'zip' : ((await fileTypeFromBuffer(bytes).catch(() => undefined))?.ext as string | undefined)

/** Whether it is an office document with a password: a container of the older kind with this stream ([MS-OFFCRYPTO] 2.3.4.4). */
const isLocked = (bytes: Buffer) => bytes.includes('EncryptedPackage', 0, 'utf16le')

function isArchive(bytes: Buffer): boolean {
  return ['PK\x03\x04', 'PK\x05\x06'].includes(bytes.toString('latin1', 0, 4))
}

/**
 * Whether it is UTF-16 with its byte order mark, or UTF-8 or an older encoding (spreadsheets still write these) without
 * control characters.
 */
function isText(bytes: Buffer): boolean {
  if (['\xff\xfe', '\xfe\xff'].includes(bytes.toString('latin1', 0, 2))) return bytes.length % 2 === 0
  for (let from = 0; from < bytes.length; from += 65_536) {
    if (controls.test(bytes.toString('latin1', from, from + 65_536))) return false
  }
  return true
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters.
const controls = /[\0-\x08\x0e-\x1a\x1c-\x1f]/

/** Of a large file only the first and the last character are checked, because parsing takes many times its size in memory. */
function isJson(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false
  const head = bytes
    .subarray(0, parsedBytes)
    .toString()
    .replace(/^\ufeff/, '')
  if (bytes.length <= parsedBytes) return parses(head)
  const ends = head.trimStart().slice(0, 1) + bytes.subarray(-64).toString().trimEnd().slice(-1)
  return ends === '{}' || ends === '[]'
}

const parsedBytes = 1024 * 1024

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
