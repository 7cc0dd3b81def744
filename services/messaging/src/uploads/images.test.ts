import { limits } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const page = Buffer.from('<html><script>alert(1)</script></html>')
const impossible = Buffer.from(samples.png)
impossible.writeUInt32BE(0xffffffff, 16)
const base64 = (bytes: Buffer) => bytes.toString('base64')
const path = () => `/channels/${environment.channel.open.id}/messages/image`

describe('POST …/messages/image', () => {
  test('returns a name, and requests a thumbnail when none was sent', async () => {
    const { ann } = environment.people
    const { db } = environment.deps
    const filename = await ann.uploadsImage(`/channels/${environment.channel.open.id}/messages`, 'a.png', samples.png)
    expect(filename).toMatch(/^[0-9a-f-]{36}-a\.png$/)
    const row = await db.selectFrom('uploads').selectAll().where('filename', '=', filename).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ kind: 'image', channelId: environment.channel.open.id, size: samples.png.length })
    expect(row).toMatchObject({ originalName: 'a.png', uploadedBy: ann.id, storedAt: expect.any(Number) })
    expect(row.idleSince).toBe(row.createdAt)
  })

  test('returns a name that a message accepts, however long the original name is', async () => {
    const { ann } = environment.people
    const { open } = environment.channel
    for (const [extension, bytes] of [
      ['jpeg', samples.jpg],
      ['png', samples.png],
    ] as const) {
      const name = `${'a long name '.repeat(20)}.${extension}`
      const filename = await ann.uploadsImage(`/channels/${open.id}/messages`, name, bytes)
      expect((await ann.sends(open, { images: [filename] })).images).toEqual([filename])
    }
  })

  test.each([
    ['a.png', samples.png, [2, 2]],
    ['a.jpg', samples.jpg, [2, 2]],
    ['a.webp', samples.webp, [2, 2]],
    ['a.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"/>'), [40, 30]],
    ['an SVG without a size.svg', samples.svg, [null, null]],
    ['a PNG with impossible sides.png', impossible, [null, null]],
  ])('returns the width and height of %s', async (filename, image, [width, height]) => {
    const { status, body } = await environment.people.ann.post(path(), { filename, image: base64(image) })
    expect([status, body]).toEqual([200, { success: true, filename: expect.any(String), width, height }])
  })

  test.each([
    ['a page', 'a.png', page],
    ['a page called SVG', 'a.svg', page],
    ['a page with an SVG in it', 'a.svg', Buffer.from('<html><svg xmlns="http://www.w3.org/2000/svg"/></html>')],
    ['text before an SVG', 'a.svg', Buffer.from('x<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['an SVG called PNG', 'a.png', samples.svg],
    ['a JPEG called PNG', 'a.png', samples.jpg],
    ['a GIF', 'a.gif', Buffer.from('GIF89a')],
    ['a file', 'a.pdf', samples.pdf],
    ['a name without extension', 'a', samples.png],
    ['nothing', 'a.png', Buffer.alloc(0)],
  ])('refuses %s', async (_what, filename, image) => {
    const { status, body } = await environment.people.ann.post(path(), { filename, image: base64(image) })
    expect([status, body.error]).toEqual([400, expect.any(String)])
  })

  test.each([
    ['with a comment first', '<!-- made by hand --><svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['with a mark', '\ufeff<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['with a prefix', '<x:svg xmlns:x="http://www.w3.org/2000/svg"/>'],
    [
      'as designers’ programs write it',
      '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x" [<!ENTITY ns "http://www.w3.org/2000/svg">]>\n<svg xmlns="&ns;"/>',
    ],
  ])('accepts an SVG %s', async (_what, text) => {
    expect(
      await environment.people.ann.post(path(), { filename: 'a.svg', image: base64(Buffer.from(text)) }),
    ).toMatchObject({
      status: 200,
    })
  })

  test.each([
    ['a page', base64(page)],
    ['nothing', ''],
    ['no base64', '!'],
    ['more than 1 MB', base64(Buffer.concat([samples.png, Buffer.alloc(limits.thumbnail)]))],
  ])('refuses %s as a thumbnail', async (_what, thumbnail) => {
    const body = { filename: 'a.png', image: base64(samples.png), thumbnail }
    expect(await environment.people.ann.post(path(), body)).toMatchObject({ status: 400 })
  })

  test('accepts null for no thumbnail', async () => {
    const body = { filename: 'a.png', image: base64(samples.png), thumbnail: null }
    expect(await environment.people.ann.post(path(), body)).toMatchObject({ status: 200 })
  })

  test('accepts 10 MB and no byte more', async () => {
    const { ann } = environment.people
    const large = (bytes: number) => base64(Buffer.concat([samples.png, Buffer.alloc(bytes - samples.png.length)]))
    const thumbnail = base64(Buffer.concat([samples.jpg, Buffer.alloc(limits.thumbnail - samples.jpg.length)]))
    const response = await ann.post(path(), { filename: 'a.png', image: large(limits.image), thumbnail })
    expect(response.status).toBe(200)
    expect((await ann.downloads(`${path()}/${response.body.filename}?size=thumb`)).bytes.toString('base64')).toBe(
      thumbnail,
    )
    const more = await ann.post(path(), { filename: 'a.png', image: large(limits.image + 1) })
    expect([more.status, more.body.error]).toEqual([400, 'The image is larger than 10 MB'])
  }, 60_000)

  test('is for people who may write there', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const body = { filename: 'a.png', image: base64(samples.png) }
    const secret = `/channels/${environment.channel.secret.id}/messages`
    const parent = await ann.says('a question', environment.channel.secret)
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const statuses = (path: string) =>
      Promise.all([ada, bob, cat, nobody].map(async (person) => (await person.post(path, body)).status))
    expect(await statuses(`${secret}/image`)).toEqual([200, 200, 403, 401])
    expect(await statuses(`/messages/${parent.id}/thread/image`)).toEqual([200, 200, 403, 401])
    expect(await statuses(`/conversations/${conversation.id}/messages/image`)).toEqual([403, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense']) {
      expect(await ann.post(`/channels/${id}/messages/image`, body)).toMatchObject({ status: 404 })
      expect(await ann.post(`/messages/${id}/thread/image`, body)).toMatchObject({ status: 404 })
      expect(await ann.post(`/conversations/dm:${id}/messages/image`, body)).toMatchObject({ status: 404 })
    }
  })
})
