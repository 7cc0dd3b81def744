import { limits } from '@parley/contract'
import { type Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { storeUpload } from './store-upload.ts'

const environment = testEnvironment()
/** A container of the older kind, with the document as one stream. */
const locked = Buffer.concat([samples.doc, Buffer.from('EncryptedPackage', 'utf16le')])
const post = (person: Person, filename: string, file: Buffer | string, rest: object = {}) =>
  person.post('/files', { filename, file: file instanceof Buffer ? file.toString('base64') : file, ...rest })

describe('POST /files', () => {
  test.each([
    ['notes.txt', samples.txt, 'text/plain'],
    ['README.md', samples.txt, 'text/markdown'],
    ['README.markdown', samples.txt, 'text/markdown'],
    ['table.csv', Buffer.from('Stra\u00dfe;1\r\n', 'latin1'), 'text/csv'],
    ['Unicode.txt', Buffer.from('\ufeffnotes', 'utf16le'), 'text/plain'],
    ['page.txt', Buffer.from('<?xml version="1.0"?><a/>'), 'text/plain'],
    ['devices.csv', Buffer.from('MAC address,room\n'), 'text/csv'],
    ['health.csv', Buffer.from('BMI,date\n'), 'text/csv'],
    ['message.txt', Buffer.from('-----BEGIN PGP MESSAGE-----\n\nhQ==\n-----END PGP MESSAGE-----\n'), 'text/plain'],
    ['facts.json', samples.json, 'application/json'],
    ['paper.PDF', samples.pdf, 'application/pdf'],
    ['things.zip', samples.zip, 'application/zip'],
    ['letter.zip', samples.docx, 'application/zip'],
    ['letter.docx', samples.docx, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['locked.docx', locked, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['letter.doc', samples.doc, 'application/msword'],
    ['sums.xls', samples.doc, 'application/vnd.ms-excel'],
    ['slides.ppt', samples.doc, 'application/vnd.ms-powerpoint'],
  ])('accepts %s, with any given type, and returns it unchanged', async (filename, bytes, contentType) => {
    const { ann } = environment.people
    const response = await post(ann, filename, bytes, { contentType: 'text/html' })
    const attachment = { filename: expect.any(String), originalName: filename, contentType, size: bytes.length }
    expect(response).toMatchObject({ status: 200, body: { success: true, attachment } })

    const stored = response.body.attachment.filename
    expect(stored).toMatch(/^[0-9a-f-]{36}\.[a-z]+$/)
    const download = await ann.downloads(`/files/${stored}`)
    expect(download).toMatchObject({ status: 200, headers: { 'content-type': contentType } })
    expect(download.bytes).toEqual(bytes)
  })

  test.each([
    ['a page', 'page.html', '<script>alert(1)</script>'],
    ['a page called PDF', 'page.pdf', '<script>alert(1)</script>'],
    ['a program', 'setup.exe', 'MZ'],
    ['a program called text', 'setup.txt', 'MZ\0\x03\0'],
    ['a PDF called text', 'paper.txt', samples.pdf],
    ['an image called archive', 'picture.zip', samples.png],
    ['an image', 'picture.png', samples.png],
    ['an archive called by an older office program', 'letter.doc', samples.zip],
    ['an older office document', 'letter.docx', samples.doc],
    ['another office document', 'letter.xlsx', samples.docx],
    ['text called JSON', 'facts.json', 'no facts'],
    ['a page called JSON, a large one', 'facts.json', `<p>${'x'.repeat(1024 * 1024)}`],
    ['no extension', 'Makefile', 'all:'],
    ['an extension alone', 'txt', 'x'],
    ['nothing', 'empty.txt', ''],
    ['no name', ' ', 'x'],
  ])('refuses %s', async (_what, filename, content) => {
    const { status, body } = await post(environment.people.ann, filename, Buffer.from(content as string))
    expect([status, body.error]).toEqual([400, expect.any(String)])
  })

  test.each([
    ['no base64', 'nonsense!'],
    ['white space', 'bm90\r\nZXM='],
    ['a line break within a long one', `${'bm90'.repeat(1_000)}\n${'bm90'.repeat(1_000)}`],
    ['the alphabet of URLs', '-_-_'],
    ['no padding', 'bm90ZQ'],
    ['padding in its midst', 'bm8=bm90'],
    ['too much padding', 'bm90===='],
    ['a data: URL', 'data:text/plain;base64,bm90'],
    ['other characters', 'bm9\u0141'],
  ])('refuses %s', async (_what, file) => {
    const { status, body } = await post(environment.people.ann, 'notes.txt', file)
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^file is /)])
  })

  test.each([
    ['every slash escaped', (text: string) => text.replaceAll('/', '\\/')],
    ['every plus sign escaped', (text: string) => text.replaceAll('+', '\\u002B')],
  ])('reads base64 with %s', async (_what, escaped) => {
    const { ann } = environment.people
    const text = Buffer.from('\u03c0\u03c0>>??~~'.repeat(300)).toString('base64')
    expect(escaped(text)).not.toBe(text)
    const { body } = await ann.post('/files', `{"file":"${escaped(text)}","filename":"notes.txt"}`)
    expect((await ann.downloads(`/files/${body.attachment.filename}`)).bytes.toString('base64')).toBe(text)
  })

  test.each([
    ['{"filename":"a.txt","file":1}', /^file must be text/],
    ['{"file":"bm90"}', /^filename is missing/],
    ['{"filename":"a.txt"}', /^file is missing/],
    ['', /missing/],
    ['[]', /^The body must be a JSON object/],
    ['{"filename":"a.txt","file":"bm90"', /not valid JSON/],
    [`{"filename":"a.txt","file":"${'bm90'.repeat(1_000)}`, /not valid JSON/],
    ['{"filename":"a\\u0000.txt","file":"bm90"}', /U\+0000/],
    [`{"filename":"a.txt","file":"bm90","more":"${'x'.repeat(70_000)}"}`, /^The fields beside the file are too long/],
    [`{"more":["${'x'.repeat(70_000)}"],"filename":"a.txt","file":"bm90"}`, /^The fields beside the file are too long/],
    [
      `{"more":{"${'x'.repeat(70_000)}":1},"filename":"a.txt","file":"bm90"}`,
      /^The fields beside the file are too long/,
    ],
    // Nested so deeply that a recursive function has no stack left.
    [`{"filename":${'['.repeat(4_990)}${']'.repeat(4_990)},"file":"bm90"}`, /^filename must be text/],
    [`{"filename":"${'x'.repeat(5_000)}.txt","file":"bm90"}`, /longer than/],
  ])('refuses %.60s', async (body, error) => {
    const response = await environment.people.ann.post('/files', body)
    expect([response.status, response.body.error]).toEqual([400, expect.stringMatching(error)])
  })

  test('refuses a form', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    expect(await environment.people.ann.post('/files', '--x--', headers)).toMatchObject({ status: 400 })
  })

  test('accepts 25 MB and no byte more, with a sentence that says so', async () => {
    const { ann } = environment.people
    const bytes = Buffer.alloc(limits.file, 'x')
    const { filename } = await ann.uploads('large.txt', bytes)
    expect((await ann.downloads(`/files/${filename}`)).bytes.equals(bytes)).toBe(true)

    const more = await post(ann, 'larger.txt', Buffer.alloc(limits.file + 1, 'x'))
    expect([more.status, more.body.error]).toEqual([400, 'The file is larger than 25 MB'])
    expect((await post(ann, 'huge.txt', Buffer.alloc(31 * 1024 * 1024, 'x'))).status).toBe(413)
  }, 120_000)

  test('is for people who are signed in', async () => {
    expect(await post(environment.people.nobody, 'notes.txt', samples.txt)).toMatchObject({ status: 401 })
  })
})

describe('POST /files/binary', () => {
  const send = (person: Person, filename: string, bytes: Buffer | string, headers: object = {}) =>
    fetch(`${person.baseUrl}/files/binary?filename=${encodeURIComponent(filename)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.token}`, ...headers },
      body: typeof bytes === 'string' ? bytes : new Blob([Buffer.from(bytes)]),
    })

  test.each([
    ['application/pdf', {}],
    ['its own type, whatever is said', { 'content-type': 'application/json' }],
  ])('accepts a file as it is, as %s', async (_what, headers) => {
    const { ann } = environment.people
    const response = await send(ann, 'paper.pdf', samples.pdf, headers)
    const attachment = { originalName: 'paper.pdf', contentType: 'application/pdf', size: samples.pdf.length }
    const body = (await response.json()) as { attachment: { filename: string } }
    expect([response.status, body]).toMatchObject([200, { success: true, attachment }])
    expect((await ann.downloads(`/files/${body.attachment.filename}`)).bytes).toEqual(samples.pdf)
  })

  test('accepts one without a length', async () => {
    const body = new Blob(['notes']).stream()
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${environment.people.ann.token}` },
      body,
      duplex: 'half',
    }
    const response = await fetch(`${environment.baseUrl}/files/binary?filename=notes.txt`, init as RequestInit)
    expect(await response.json()).toMatchObject({ attachment: { size: 5 } })
  })

  test.each([
    ['nothing', 'notes.txt', ''],
    ['what it is not', 'paper.pdf', 'notes'],
    ['no name', '', 'notes'],
    ['26 MB', 'notes.txt', Buffer.alloc(26 * 1024 * 1024, 'x')],
  ])('refuses %s', async (_what, filename, bytes) => {
    const response = await send(environment.people.ann, filename, bytes)
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: expect.any(String) }),
    ])
  })
})

test('an upload that is collected while its bytes are stored leaves none', async () => {
  const { people } = environment
  const { db } = environment.deps
  const deps = environment.depsOf('messaging')
  const names: string[] = []
  const put: typeof deps.blobs.put = async (key, ...rest) => {
    await deps.blobs.put(key, ...rest)
    await db.deleteFrom('uploads').where('filename', '=', key).execute()
    names.push(key)
  }
  const facts = { originalName: 'a.txt', extension: 'txt', contentType: 'text/plain', uploadedBy: people.ann.id }
  const upload = { kind: 'file', channelId: null, ...facts, bytes: samples.txt, thumbnail: undefined } as const
  await expect(storeUpload({ ...deps, blobs: { ...deps.blobs, put } }, upload)).rejects.toMatchObject({ status: 503 })
  expect(names).toHaveLength(1)
  expect(await db.selectFrom('blobs').select('key').where('key', 'in', names).execute()).toEqual([])
})
