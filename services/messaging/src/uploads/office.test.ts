import { crc32, deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { recogniseFile } from './formats.ts'
import { isOfficeDocument } from './office.ts'

interface ZipOptions {
  packed?: boolean
  /** ZIP64 sizes and positions. Programs write them if they do not know the sizes in advance. */
  zip64?: boolean
  encrypted?: boolean
  comment?: string
}

function zip(files: Record<string, string | Buffer>, options: ZipOptions = {}): Buffer {
  const { packed = true, zip64 = false, encrypted = false, comment = '' } = options
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content as string)
    const data = packed ? deflateRawSync(bytes) : bytes
    const about = Buffer.alloc(26)
    about.writeUInt16LE(encrypted ? 1 : 0, 2)
    about.writeUInt16LE(packed ? 8 : 0, 4)
    about.writeUInt32LE(crc32(bytes), 10)
    about.writeUInt32LE(data.length, 14)
    about.writeUInt32LE(bytes.length, 18)
    about.writeUInt16LE(name.length, 22)
    parts.push(Buffer.from('PK\x03\x04'), about, Buffer.from(name), data)
    const listed = Buffer.from(about)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    const extra = Buffer.alloc(zip64 ? 34 : 0)
    if (zip64) {
      listed.writeUInt32LE(0xffffffff, 14)
      listed.writeUInt32LE(0xffffffff, 18)
      rest.writeUInt32LE(0xffffffff, 10)
      listed.writeUInt16LE(34, 24)
      // Another extra field comes before this one.
      extra.writeUInt16LE(0x5455, 0)
      extra.writeUInt16LE(2, 2)
      extra.writeUInt16LE(1, 6)
      extra.writeUInt16LE(24, 8)
      extra.writeBigUInt64LE(BigInt(bytes.length), 10)
      extra.writeBigUInt64LE(BigInt(data.length), 18)
      extra.writeBigUInt64LE(BigInt(offset), 26)
    }
    directory.push(Buffer.from('PK\x01\x02\x14\x00'), listed, rest, Buffer.from(name), extra)
    offset += 30 + name.length + data.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(zip64 ? 0xffffffff : offset, 16)
  end.writeUInt16LE(comment.length, 20)
  const long = Buffer.alloc(zip64 ? 76 : 0)
  if (zip64) {
    long.write('PK\x06\x06', 'latin1')
    long.writeBigUInt64LE(BigInt(offset), 48)
    long.write('PK\x06\x07', 56, 'latin1')
    long.writeBigUInt64LE(BigInt(offset + listed.length), 64)
  }
  return Buffer.concat([...parts, listed, long, end, Buffer.from(comment)])
}

const word = 'wordprocessingml.document'
const mainType = (format: string) => `application/vnd.openxmlformats-officedocument.${format}.main+xml`
const override = (partName: string, contentType: string) =>
  `<Types><Default Extension="xml" ContentType="application/xml"/><Override PartName="${partName}" ContentType="${contentType}"/></Types>`
const letter = { '[Content_Types].xml': override('/word/document.xml', mainType(word)), 'word/document.xml': '<d/>' }

describe('an archive is an office document', () => {
  test.each<[string, Buffer]>([
    ['as programs write it', zip(letter)],
    ['with parts that are not packed', zip(letter, { packed: false })],
    ['with a comment at its end', zip(letter, { comment: 'made by hand' })],
    ['with long sizes', zip(letter, { zip64: true })],
    [
      'with a main part of another name',
      zip({
        '[Content_Types].xml': override('/Word/Document2.xml', mainType(word)),
        'word/document2.xml': '<d/>',
      }),
    ],
    [
      'with prefixes, and quotes of the other kind',
      zip({
        ...letter,
        '[Content_Types].xml': `<x:Override ContentType = '${mainType(word)}' PartName='/word/document.xml' />`,
      }),
    ],
    [
      'that names its type by extension alone',
      zip({ ...letter, '[Content_Types].xml': `<Default Extension="xml" ContentType="${mainType(word)}"/>` }),
    ],
    [
      'in UTF-16',
      zip({ ...letter, '[Content_Types].xml': Buffer.from(`\ufeff${letter['[Content_Types].xml']}`, 'utf16le') }),
    ],
  ])('%s', async (_what, bytes) => {
    expect(isOfficeDocument(bytes, word)).toBe(true)
    expect(await recogniseFile(bytes, 'docx')).toBe(`application/vnd.openxmlformats-officedocument.${word}`)
    for (const extension of ['xlsx', 'pptx']) {
      await expect(recogniseFile(bytes, extension)).rejects.toMatchObject({ status: 400 })
    }
    expect(await recogniseFile(bytes, 'zip')).toBe('application/zip')
  })

  test.each([
    ['xlsx', 'spreadsheetml.sheet', 'xl/workbook.xml'],
    ['pptx', 'presentationml.presentation', 'ppt/presentation.xml'],
  ])('of each format: %s', async (extension, format, main) => {
    const bytes = zip({ '[Content_Types].xml': override(`/${main}`, mainType(format)), [main]: '<x/>' })
    expect(await recogniseFile(bytes, extension)).toContain(format)
    await expect(recogniseFile(bytes, 'docx')).rejects.toMatchObject({ status: 400 })
  })
})

describe('an archive is none', () => {
  const types = letter['[Content_Types].xml']
  const whole = zip(letter)
  const changed = (bytes: Buffer, change: (copy: Buffer, directory: number, end: number) => void) => {
    const copy = Buffer.from(bytes)
    change(copy, copy.indexOf('PK\x01\x02'), copy.indexOf('PK\x05\x06'))
    return copy
  }
  test.each<[string, Buffer]>([
    ['without content types', zip({ 'word/document.xml': '<d/>' })],
    ['without its main part', zip({ '[Content_Types].xml': types })],
    ['of other things', zip({ 'notes.txt': 'some notes' })],
    ['with nothing in it', zip({})],
    ['whose content types are encrypted', zip(letter, { encrypted: true })],
    [
      'with macros',
      zip({
        ...letter,
        '[Content_Types].xml': types.replaceAll(
          mainType(word),
          'application/vnd.ms-word.document.macroEnabled.main+xml',
        ),
      }),
    ],
    ['that breaks off', whole.subarray(0, whole.length - 30)],
    [
      'whose directory is said to be elsewhere',
      changed(whole, (copy, _, end) => copy.writeUInt32LE(0xfffffff0, end + 16)),
    ],
    [
      'whose parts are said to be elsewhere',
      changed(whole, (copy, directory) => copy.writeUInt32LE(0xfffffff0, directory + 42)),
    ],
    [
      'whose content types are said to be larger than it is',
      changed(whole, (copy, directory) => copy.writeUInt32LE(0xfffffff0, directory + 20)),
    ],
    ['that is packed in an unknown way', changed(whole, (copy, directory) => copy.writeUInt16LE(99, directory + 10))],
    ['whose content types are damaged', changed(whole, (copy) => copy.fill(0xff, 49, 60))],
  ])('%s', async (_what, bytes) => {
    expect(isOfficeDocument(bytes, word)).toBe(false)
    await expect(recogniseFile(bytes, 'docx')).rejects.toMatchObject({ status: 400 })
  })
})

describe('a hostile archive costs little', () => {
  test('with content types that unpack to a large size', async () => {
    const bomb = zip({
      ...letter,
      '[Content_Types].xml': Buffer.alloc(200 * 1024 * 1024, letter['[Content_Types].xml']),
    })
    expect(bomb.length).toBeLessThan(2 * 1024 * 1024)
    const before = process.memoryUsage().arrayBuffers
    await expect(recogniseFile(bomb, 'docx')).rejects.toMatchObject({ status: 400 })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024)
  })

  test('with any number of parts', async () => {
    const parts = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, '']))
    const bytes = zip({ ...parts, ...letter }, { packed: false })
    expect(isOfficeDocument(bytes, word)).toBe(false)
    const names = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}`.padEnd(60_000, 'x'), '']))
    expect(isOfficeDocument(zip({ ...names, ...letter }, { packed: false }), word)).toBe(false)
  })

  test('whose entries point at themselves, or outside the file', () => {
    for (let seed = 0; seed < 2_000; seed++) {
      const bytes = zip(letter, { zip64: seed % 2 === 0, comment: `${seed}` })
      // Its own random number generator makes a failure repeatable.
      let state = seed + 1
      for (let n = 0; n < 8; n++) {
        state = (state * 48_271) % 2_147_483_647
        bytes[state % bytes.length] = state & 0xff
      }
      expect(() => isOfficeDocument(bytes, word)).not.toThrow()
    }
  })
})
