import { type Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
const text = Buffer.from('0123456789'.repeat(60_000))
let path: string
beforeAll(async () => {
  const attachment = await environment.people.ann.uploads('digits.txt', text)
  await environment.people.ann.sends(environment.channel.secret, { attachments: [attachment] })
  path = `/files/${attachment.filename}`
})
const last = text.length - 1

describe('GET /files/:filename', () => {
  test.each([
    ['bytes=0-9', 0, 9],
    ['bytes=5-', 5, last],
    ['bytes=-10', last - 9, last],
    [`bytes=-${text.length + 1}`, 0, last],
    [`bytes=300000-${text.length * 2}`, 300_000, last],
    ['BYTES=0-0', 0, 0],
  ])('%s returns that part', async (range, start, end) => {
    const { status, headers, bytes } = await environment.people.bob.downloads(path, { range })
    expect([status, headers['content-range'], headers['content-length']]).toEqual([
      206,
      `bytes ${start}-${end}/${text.length}`,
      `${end + 1 - start}`,
    ])
    expect(bytes.equals(text.subarray(start, end + 1))).toBe(true)
  })

  test.each(['bytes=5-4', 'bytes=x', 'bytes=-', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=1-2x', 'bytes= 0 - 1 '])(
    '%s is not one range of bytes: all bytes are returned',
    async (range) => {
      const { status, bytes } = await environment.people.bob.downloads(path, { range })
      expect([status, bytes.length]).toEqual([200, text.length])
    },
  )

  test.each([`bytes=${text.length}-`, 'bytes=99999999999999999999-', 'bytes=-0'])('%s is beyond it', async (range) => {
    const { status, headers, bytes } = await environment.people.bob.downloads(path, { range })
    expect([status, headers['content-range']]).toEqual([416, `bytes */${text.length}`])
    expect(JSON.parse(bytes.toString())).toMatchObject({ error: expect.any(String) })
    expect(headers['cache-control']).toBe('no-store')
  })

  test('If-None-Match with the ETag gets 304, and If-Range with another one gets all bytes', async () => {
    const { bob } = environment.people
    const { headers } = await bob.downloads(path)
    const etag = headers.etag as string
    expect(headers).toMatchObject({
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      vary: expect.stringContaining('Authorization'),
    })
    for (const known of [etag, `"other", W/${etag}`, '*']) {
      expect(await bob.downloads(path, { 'if-none-match': known })).toMatchObject({
        status: 304,
        bytes: Buffer.alloc(0),
      })
    }
    expect((await bob.downloads(path, { 'if-none-match': '"other"' })).status).toBe(200)
    expect((await bob.downloads(path, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206)
    expect((await bob.downloads(path, { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200)
  })

  test('Vary names Origin and Authorization', async () => {
    const { ann, bob } = environment.people
    const image = await ann.uploadsImage(
      `/channels/${environment.channel.secret.id}/messages`,
      'dot.png',
      Buffer.from(samples.png),
    )
    for (const address of [path, `/channels/${environment.channel.secret.id}/messages/image/${image}`]) {
      const { headers } = await bob.downloads(address, { origin: 'https://elsewhere.example' })
      expect(headers.vary).toBe('Origin, Authorization')
    }
  })

  test('HEAD returns the same without the bytes', async () => {
    const { bob, cat } = environment.people
    const [head, get] = [await bob.downloads(path, {}, 'HEAD'), await bob.downloads(path)]
    const facts = ['content-type', 'content-length', 'content-disposition', 'etag', 'content-security-policy'] as const
    expect([head.status, head.bytes.length]).toEqual([200, 0])
    expect(facts.map((name) => head.headers[name])).toEqual(facts.map((name) => get.headers[name]))
    expect((await bob.downloads(path, { range: 'bytes=0-9' }, 'HEAD')).headers['content-length']).toBe('10')
    expect((await cat.downloads(path, {}, 'HEAD')).status).toBe(403)
  })

  test('is for people who may read a message that has it, and its uploader', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const statuses = (people: Person[], path: string) =>
      Promise.all(people.map(async (person) => (await person.downloads(path)).status))
    expect(await statuses([ada, ann, bob, cat, nobody], path)).toEqual([200, 200, 200, 403, 401])

    const { filename } = await ann.uploads('draft.txt', 'a draft')
    expect(await statuses([ada, ann, bob, cat, nobody], `/files/${filename}`)).toEqual([403, 200, 403, 403, 401])
    const unknown = [
      '/files/nonsense',
      `/files/${crypto.randomUUID()}.txt`,
      '/files/..%2F..%2Fetc%2Fpasswd',
      '/files/%ff',
    ]
    for (const each of unknown) expect((await ann.downloads(each)).status).toBeGreaterThanOrEqual(400)
    expect((await ann.downloads(unknown[0]!)).status).toBe(404)
  })

  test('a new member may read the file, and nobody when the channel is deleted', async () => {
    const { ann, cat } = environment.people
    const channel = await ann.creates({ name: 'for a while', isPrivate: true })
    const attachment = await ann.uploads('notes.txt', 'notes')
    await ann.sends(channel, { attachments: [attachment] })
    const status = async () => (await cat.downloads(`/files/${attachment.filename}`)).status
    expect(await status()).toBe(403)
    await ann.put(`/channels/${channel.id}`, { members: [cat.id] })
    expect(await status()).toBe(200)
    await ann.delete(`/channels/${channel.id}`)
    expect(await status()).toBe(403)
  })

  test.each([
    ['\u8b70\u4e8b\u9332.txt', '\u8b70\u4e8b\u9332.txt'],
    [
      'na\u00efve \u043e\u0442\u0447\u0451\u0442 \u0645\u0644\u0641.txt',
      'na\u00efve \u043e\u0442\u0447\u0451\u0442 \u0645\u0644\u0641.txt',
    ],
    ['../../etc/pass"wd.txt', 'pass_wd.txt'],
    ['C:\\Users\\me\\notes.txt', 'notes.txt'],
    ['annexe\u202etxt.\u2066exe.txt', 'annexetxt.exe.txt'],
    ['a\r\nSet-Cookie: x=1\r\n.txt', 'aSet-Cookie_ x=1.txt'],
    ['50% off; filename=x.txt', '50% off; filename=x.txt'],
    [`${'\u{1f600}'.repeat(300)}.txt`, `${'\u{1f600}'.repeat(196)}.txt`],
    ['.txt', 'file.txt'],
    ['\ud800.txt', '\ufffd.txt'],
  ])('%j is saved as %j, never shown', async (given, saved) => {
    const { ann } = environment.people
    const attachment = await ann.uploads(given, 'notes')
    const safe = saved === '\ufffd.txt' ? 'file.txt' : saved
    expect(attachment.originalName).toBe(safe)
    const { headers } = await ann.downloads(`/files/${attachment.filename}`)
    const disposition = headers['content-disposition'] as string
    expect(disposition).toMatch(/^attachment; filename=/)
    const [, encoded] = /filename\*=UTF-8''(.*)$/.exec(disposition) ?? []
    const [, plain] = /filename="?([^"]*)"?$/.exec(disposition) ?? []
    expect(encoded === undefined ? plain : decodeURIComponent(encoded)).toBe(safe)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['content-security-policy']).toMatch(/^sandbox;/)
  })
})

describe('GET /channels/:channelId/messages/image/:filename', () => {
  const of = (channel: { id: string }) => `/channels/${channel.id}/messages`

  test.each([
    ['a.png', samples.png, 'image/png'],
    ['a.JPG', samples.jpg, 'image/jpeg'],
    ['a.jpeg', samples.jpg, 'image/jpeg'],
    ['a.webp', samples.webp, 'image/webp'],
    ['a.svg', samples.svg, 'image/svg+xml'],
  ])('%s is returned unchanged, to be shown', async (name, bytes, contentType) => {
    const { ann, bob } = environment.people
    const filename = await ann.uploadsImage(of(environment.channel.secret), name, bytes)
    const download = await bob.downloads(`${of(environment.channel.secret)}/image/${filename}`)
    expect(download).toMatchObject({
      status: 200,
      headers: {
        'content-type': contentType,
        'content-disposition': `inline; filename=${name}`,
        'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'/),
        'x-content-type-options': 'nosniff',
      },
    })
    expect(download.bytes).toEqual(bytes)
  })

  test('is for the channel’s audience, and unknown elsewhere', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const filename = await ann.uploadsImage(of(environment.channel.secret), 'a.png', samples.png)
    const path = `${of(environment.channel.secret)}/image/${filename}`
    const statuses = [ada, ann, bob, cat, nobody].map(async (person) => (await person.downloads(path)).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403, 401])
    expect((await ann.downloads(`${of(environment.channel.open)}/image/${filename}`)).status).toBe(404)
    expect((await ann.downloads(`/files/${filename}`)).status).toBe(404)
    expect((await ann.downloads(`${of(environment.channel.secret)}/image/nonsense`)).status).toBe(404)
    expect(
      (await ann.downloads(`/conversations/dm:${environment.channel.secret.id}/messages/image/${filename}`)).status,
    ).toBe(404)
  })

  test('with size=thumb returns the thumbnail that was sent', async () => {
    const { ann } = environment.people
    const filename = await ann.uploadsImage(of(environment.channel.open), 'a.png', samples.png, samples.webp)
    const path = `${of(environment.channel.open)}/image/${filename}`
    const thumb = await ann.downloads(`${path}?size=thumb`)
    expect(thumb).toMatchObject({ status: 200, bytes: samples.webp, headers: { 'content-type': 'image/webp' } })
    expect((await ann.downloads(path)).bytes).toEqual(samples.png)
    expect((await ann.downloads(`${path}?size=other`)).bytes).toEqual(samples.png)
    const etag = thumb.headers.etag as string
    expect(etag).not.toBe((await ann.downloads(path)).headers.etag)
    expect((await ann.downloads(`${path}?size=thumb`, { 'if-none-match': etag })).status).toBe(304)
  })

  test('with size=thumb returns the image while there is no thumbnail, not to be cached', async () => {
    const { ann } = environment.people
    const { db } = environment.deps
    const filename = await ann.uploadsImage(of(environment.channel.open), 'a.png', samples.png)
    await db.updateTable('uploads').set({ thumbnailType: null }).where('filename', '=', filename).execute()
    const thumb = await ann.downloads(`${of(environment.channel.open)}/image/${filename}?size=thumb`)
    expect(thumb).toMatchObject({ status: 200, bytes: samples.png, headers: { 'cache-control': 'private, no-cache' } })
  })
})
