import { samples } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function fileJourneys(server: TestServer) {
  test('a file can be read by readers of its message, and is deleted with it', async () => {
    const [ann, bob, cat] = await Promise.all(['ann', 'bob', 'cat'].map((name) => server.newcomer(name)))
    const secret = await ann!.creates({ name: server.unique('files'), isPrivate: true, members: [bob!.id] })
    const bytes = Buffer.alloc(300_000, 'many notes\n')
    const attachment = await ann!.uploads('日本語 "notes".txt', bytes)
    expect(await bob!.downloads(`/files/${attachment.filename}`)).toMatchObject({ status: 403 })

    const stream = await bob!.opensStream()
    const message = await ann!.sends(secret, { attachments: [attachment] })
    const heard = await stream.waitFor('NEW_MESSAGE', { id: message.id })
    expect(heard.payload.attachments).toEqual([attachment])
    await stream.close()
    const path = `/files/${attachment.filename}`
    const whole = await bob!.downloads(path)
    expect(whole).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain' } })
    expect(whole.bytes.equals(bytes)).toBe(true)
    const part = await bob!.downloads(path, { range: 'bytes=299990-' })
    expect([part.status, part.bytes.toString()]).toEqual([206, bytes.subarray(299_990).toString()])
    expect(await bob!.downloads(path, { 'if-none-match': String(whole.headers.etag) })).toMatchObject({ status: 304 })
    expect(await cat!.downloads(path)).toMatchObject({ status: 403 })

    // A person cannot send the upload of another person.
    const taken = await bob!.post(`/channels/${secret.id}/messages`, { content: 'mine', attachments: [attachment] })
    expect(taken).toMatchObject({ status: 400 })
    expect(await ann!.delete(`/messages/${message.id}`)).toMatchObject({ status: 200 })
    expect(await bob!.downloads(path)).toMatchObject({ status: 403 })
  })

  test('an image belongs to its conversation, and gets a thumbnail', async () => {
    const [ann, bob, admin] = [await server.newcomer('ann'), await server.newcomer('bob'), await server.admin()]
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const messages = `/conversations/${conversation.id}/messages`
    const image = await ann.uploadsImage(messages, 'square.png', samples.png, samples.webp)
    const sent = await ann.post(messages, { content: '', images: [image] })
    expect(sent).toMatchObject({ status: 200, body: { message: { images: [image] } } })

    expect((await bob.downloads(`${messages}/image/${image}`)).bytes.equals(samples.png)).toBe(true)
    expect((await bob.downloads(`${messages}/image/${image}?size=thumb`)).bytes.equals(samples.webp)).toBe(true)
    expect(await admin.downloads(`${messages}/image/${image}`)).toMatchObject({ status: 403 })
    const channel = await ann.creates({ name: server.unique('elsewhere') })
    expect(await ann.downloads(`/channels/${channel.id}/messages/image/${image}`)).toMatchObject({ status: 404 })
  })

  test('files that are too large or have a wrong format are refused, with complete and with cut bodies', async () => {
    const ann = await server.newcomer('ann')
    const tooLarge = Buffer.alloc(26 * 1024 * 1024, 'x').toString('base64')
    expect(await ann.post('/files', { filename: 'a.txt', contentType: 'text/plain', file: tooLarge })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('25 MB') },
    })
    const page = Buffer.from('<html><script>alert(1)</script></html>').toString('base64')
    const channel = await ann.creates({ name: server.unique('images') })
    for (const image of [page, 'no base64!', '']) {
      const response = await ann.post(`/channels/${channel.id}/messages/image`, { filename: 'a.png', image })
      expect(response).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    }
  })
}
