import type { Attachment, Message } from '@parley/contract'
import { type Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const dayMs = 24 * 60 * 60 * 1000
const messagesOf = (channel: { id: string }) => `/channels/${channel.id}/messages`
const note = (person: Person, name = 'notes.txt') => person.uploads(name, samples.txt)
const statusesOf = (path: string, ...people: Person[]) =>
  Promise.all(people.map(async (person) => (await person.downloads(path)).status))
const uploadRow = (filename: string) =>
  environment.deps.db.selectFrom('uploads').selectAll().where('filename', '=', filename).executeTakeFirstOrThrow()

async function conversation(one: Person, other: Person) {
  const { body } = await one.post('/conversations', { targetUserId: other.id })
  return `/conversations/${body.conversation.id}/messages`
}

describe('a message with files', () => {
  test('has the data of the uploads, in the response, the event and the listing', async () => {
    const { ann, bob, cat } = environment.people
    const { secret } = environment.channel
    const [one, two] = [await note(ann), await note(ann, '\u8b70\u4e8b\u9332.txt')]
    const image = await ann.uploadsImage(messagesOf(secret), 'a.png', samples.png)
    const before = await ann.says('before', secret)

    const lies = { ...one, originalName: '../../etc', contentType: 'text/html', size: 1 }
    const body = {
      content: `for @${bob.userName}`,
      attachments: [lies, two, one],
      images: [image],
      quotedMessageId: before.id,
    }
    const response = await ann.post(messagesOf(secret), body)
    const message: Message = {
      ...before,
      id: expect.any(String),
      seq: before.seq + 1,
      content: body.content,
      mentions: [bob.id],
      quotedMessageId: before.id,
      attachments: [one, two],
      images: [image],
      createdAt: expect.any(Number),
    }
    expect(response).toMatchObject({ status: 200, body: { message } })
    await environment.events.to(bob).toHave('NEW_MESSAGE', response.body.message)
    await environment.events.to(cat).neverHave('NEW_MESSAGE', { id: response.body.message.id })
    const { body: listed } = await bob.get(`${messagesOf(secret)}?limit=1`)
    expect(listed.messages).toEqual([response.body.message])
    const { body: channels } = await bob.get('/channels')
    expect(channels.channels.find(({ id }: { id: string }) => id === secret.id)).toMatchObject({
      lastSeq: message.seq,
      unreadCount: 2,
      mentionCount: 1,
    })
  })

  test('has the sizes of its images, everywhere and after every edit, where they are known', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const image = (bytes: Buffer) => ann.uploadsImage(messagesOf(open), 'a.png', bytes)
    const [one, two, old] = [await image(samples.png), await image(samples.png), await image(samples.png)]
    // An image that was uploaded before the server read sizes.
    await environment.deps.db
      .updateTable('uploads')
      .set({ width: null, height: null })
      .where('filename', '=', old)
      .execute()

    const { message } = (await ann.post(messagesOf(open), { content: 'three', images: [one, two, old] })).body
    expect(message.imageSizes).toEqual({ [one]: [2, 2], [two]: [2, 2] })
    await environment.events.to(bob).toHave('NEW_MESSAGE', message)
    expect((await bob.get(`/messages/${message.id}`)).body.message).toEqual(message)

    const edit = async (body: object) =>
      (await ann.put(`/messages/${message.id}`, { content: 'x', ...body })).body.message
    expect((await edit({})).imageSizes).toEqual(message.imageSizes)
    const edited = await edit({ images: [two, old] })
    expect(edited.imageSizes).toEqual({ [two]: [2, 2] })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', edited)
    expect((await edit({ images: [one] })).imageSizes).toEqual({ [one]: [2, 2] })
    expect((await edit({ images: [] })).imageSizes).toEqual({})

    const { reply } = (await ann.post(`/messages/${message.id}/thread`, { content: 'a reply', images: [two] })).body
    expect(reply.imageSizes).toEqual({ [two]: [2, 2] })
  })

  test('counts seq with all others that are sent at once', async () => {
    const { ann, bob } = environment.people
    const channel = await ann.creates({ name: 'at once' })
    const files = await Promise.all(Array.from({ length: 5 }, () => note(bob)))
    const sent = await Promise.all([
      ...files.map((file) => bob.sends(channel, { attachments: [file] })),
      ...Array.from({ length: 10 }, (_, n) => ann.says(`${n}`, channel)),
    ])
    expect(sent.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(Array.from(sent, (_, n) => n + 1))
  })

  test('is sent once for one Idempotency-Key', async () => {
    const { ann } = environment.people
    const file = await note(ann)
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { content: 'once', attachments: [file] }
    const send = (sent: object) => ann.post(messagesOf(environment.channel.open), sent, headers)
    const first = await send(body)
    expect(first.status).toBe(200)
    expect((await send(body)).body).toEqual(first.body)
    expect(await send({ ...body, attachments: [await note(ann)] })).toMatchObject({ status: 400 })
    expect(await send({ content: 'once' })).toMatchObject({ status: 400 })

    const other = { 'idempotency-key': crypto.randomUUID() }
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => ann.post(messagesOf(environment.channel.open), body, other)),
    )
    const ids = new Set(responses.filter(({ status }) => status === 200).map(({ body }) => body.message.id))
    expect([ids.size, responses.every(({ status }) => [200, 409].includes(status))]).toEqual([1, true])
  })

  test('may be a direct message, with events only for its participants', async () => {
    const { ada, ann, bob } = environment.people
    const path = await conversation(ann, bob)
    const attachments = [await note(ann)]
    const images = [await ann.uploadsImage(path, 'a.png', samples.png)]
    const { body } = await ann.post(path, { content: '', attachments, images })
    expect(body.message).toMatchObject({ attachments, images, content: '' })
    await environment.events
      .to(bob)
      .toHave('NEW_DM_MESSAGE', { ...body.message, participants: [ann.id, bob.id].sort() })
    await environment.events.to(ada).neverHave('NEW_DM_MESSAGE', { id: body.message.id })
    const file = `/files/${attachments[0]!.filename}`
    expect(await statusesOf(file, ann, bob, ada)).toEqual([200, 200, 403])
    expect(await statusesOf(`${path}/image/${images[0]}`, ann, bob, ada)).toEqual([200, 200, 403])
  })

  test('may be a reply', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('a question', environment.channel.secret)
    const attachments = [await note(bob)]
    const images = [await bob.uploadsImage(`/messages/${parent.id}/thread`, 'a.png', samples.png)]
    const { body } = await bob.post(`/messages/${parent.id}/thread`, { content: '', attachments, images })
    expect(body.reply).toMatchObject({ attachments, images, threadId: parent.id })
    await environment.events.to(ann).toHave('NEW_THREAD_REPLY', { reply: body.reply })
    expect((await ann.downloads(`${messagesOf(environment.channel.secret)}/image/${images[0]}`)).bytes).toEqual(
      samples.png,
    )
  })

  test('is refused with uploads of other people, of other channels, or unknown ones', async () => {
    const { ann, bob } = environment.people
    const { open, secret } = environment.channel
    const path = await conversation(ann, bob)
    const theirs = await note(bob)
    const own = await note(ann)
    const elsewhere = await ann.uploadsImage(messagesOf(secret), 'a.png', samples.png)
    const direct = await ann.uploadsImage(path, 'a.png', samples.png)
    const body = { content: 'x' }
    const newest = async () => (await ann.get(`${messagesOf(open)}?limit=1`)).body.messages
    const before = await newest()
    for (const files of [
      { attachments: [theirs] },
      { attachments: [own, theirs] },
      { attachments: [{ ...own, filename: `${crypto.randomUUID()}.txt` }] },
      { attachments: [{ ...own, filename: 'x'.repeat(200) }] },
      { attachments: [{ ...own, filename: elsewhere }] },
      { attachments: Array.from({ length: 51 }, () => own) },
      { images: [own.filename] },
      { images: [elsewhere] },
      { images: [direct] },
      { images: [''] },
    ]) {
      const refused = await ann.post(messagesOf(open), { ...body, ...files })
      expect([refused.status, refused.body.error]).toEqual([400, expect.any(String)])
    }
    expect(await newest()).toEqual(before)
    expect(await uploadRow(own.filename)).toMatchObject({ idleSince: expect.any(Number) })
  })

  test('is refused where its author may not write, for an ended session, and for a quote of another channel', async () => {
    const { ann, cat, nobody } = environment.people
    const attachments = [await note(cat)]
    const body = { content: 'x', attachments }
    expect(await cat.post(messagesOf(environment.channel.secret), body)).toMatchObject({ status: 403 })
    expect(await cat.post(messagesOf({ id: 'nonsense' }), body)).toMatchObject({ status: 404 })
    expect(await cat.post('/conversations/dm:nonsense/messages', body)).toMatchObject({ status: 404 })
    expect(await nobody.post(messagesOf(environment.channel.open), body)).toMatchObject({ status: 401 })
    const { id } = await ann.says('elsewhere', environment.channel.general)
    const quoting = { ...body, quotedMessageId: id }
    expect(await cat.post(messagesOf(environment.channel.open), quoting)).toMatchObject({ status: 400 })
  })
})

describe('editing a message with files', () => {
  async function withFiles(...names: string[]) {
    const attachments: Attachment[] = []
    for (const name of names) attachments.push(await note(environment.people.ann, name))
    return environment.people.ann.sends(environment.channel.secret, { attachments })
  }

  test('keeps the list that is left out, adds the named files, and releases the others', async () => {
    const { ann, bob, cat } = environment.people
    const message = await withFiles('one.txt', 'two.txt')
    const [one, two] = message.attachments
    const edit = async (body: object) =>
      (await ann.put(`/messages/${message.id}`, { content: 'x', ...body })).body.message
    expect(await edit({})).toMatchObject({ attachments: [one, two], images: [] })

    const image = await ann.uploadsImage(messagesOf(environment.channel.secret), 'a.png', samples.png)
    const three = await note(ann, 'three.txt')
    const edited = await edit({ attachments: [three, two], images: [image] })
    expect(edited).toMatchObject({ attachments: [three, two], images: [image], rev: message.rev + 2 })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', edited)
    expect(await statusesOf(`/files/${one!.filename}`, ann, bob, cat)).toEqual([200, 403, 403])
    expect(await statusesOf(`/files/${two!.filename}`, ann, bob, cat)).toEqual([200, 200, 403])
    expect(await edit({ attachments: [], images: [] })).toMatchObject({ attachments: [], images: [] })
    expect((await uploadRow(three.filename)).idleSince).not.toBeNull()
  })

  test('a client may post first, upload, then edit', async () => {
    const { ann, bob } = environment.people
    const { message } = (await ann.post(messagesOf(environment.channel.open), { content: '', images: [] })).body
    const image = await ann.uploadsImage(messagesOf(environment.channel.open), 'a.png', samples.png)
    await ann.put(`/messages/${message.id}`, { content: '', images: [image] })
    const path = `${messagesOf(environment.channel.open)}/image/${image}`
    expect((await bob.downloads(path)).bytes).toEqual(samples.png)
  })

  test('may remove the text of a message that has files, and only of such a message', async () => {
    const { ann, bob } = environment.people
    const message = await withFiles('one.txt')
    await ann.put(`/messages/${message.id}`, { content: 'a caption' })
    const edited = (await ann.put(`/messages/${message.id}`, { content: '' })).body.message
    expect(edited).toMatchObject({ content: '', attachments: message.attachments })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', edited)

    await ann.put(`/messages/${message.id}`, { content: 'no file', attachments: [] })
    expect(await ann.put(`/messages/${message.id}`, { content: '' })).toMatchObject({ status: 400 })
    expect((await bob.get(`/messages/${message.id}`)).body.message.content).toBe('no file')
  })

  test('refuses files of other people, and then changes nothing', async () => {
    const { ann, bob } = environment.people
    const message = await withFiles('one.txt')
    const theirs = await note(bob)
    const response = await ann.put(`/messages/${message.id}`, { content: 'x', attachments: [theirs] })
    expect(response.status).toBe(400)
    expect((await uploadRow(message.attachments[0]!.filename)).idleSince).toBeNull()
    expect((await bob.get(`${messagesOf(environment.channel.secret)}?limit=1`)).body.messages).toEqual([message])
    const image = { content: 'x', images: [message.attachments[0]!.filename] }
    expect(await ann.put(`/messages/${message.id}`, image)).toMatchObject({ status: 400 })
  })

  test('leaves a file alone that another message has', async () => {
    const { ann, bob } = environment.people
    const first = await withFiles('one.txt')
    const second = await ann.sends(environment.channel.open, { attachments: first.attachments })
    const file = first.attachments[0]!.filename
    // Both requests remove the file from their message at the same time.
    await Promise.all([
      ann.put(`/messages/${first.id}`, { content: 'x', attachments: [] }),
      ann.delete(`/messages/${second.id}`),
    ])
    expect((await uploadRow(file)).idleSince).not.toBeNull()
    expect(await statusesOf(`/files/${file}`, ann, bob)).toEqual([200, 403])
  })
})

describe('deleting a message with files', () => {
  test('ends the access through it, its replies’ too', async () => {
    const { ada, ann, bob } = environment.people
    const { secret } = environment.channel
    const attachments = [await note(ann)]
    const image = await ann.uploadsImage(messagesOf(secret), 'a.png', samples.png)
    const message = await ann.sends(secret, { attachments, images: [image] })
    const replied = [await note(bob)]
    await bob.post(`/messages/${message.id}/thread`, { content: '', attachments: replied })
    const files = [`/files/${attachments[0]!.filename}`, `/files/${replied[0]!.filename}`]
    for (const path of files) expect(await statusesOf(path, ada, ann, bob)).toEqual([200, 200, 200])

    await ann.delete(`/messages/${message.id}`)
    expect(await statusesOf(files[0]!, ada, ann, bob)).toEqual([403, 200, 403])
    expect(await statusesOf(files[1]!, ada, ann, bob)).toEqual([403, 403, 200])
    expect(await statusesOf(`${messagesOf(secret)}/image/${image}`, ada, ann, bob)).toEqual([404, 200, 404])
    const held = await environment.deps.db
      .selectFrom('messageUploads')
      .selectAll()
      .where('messageId', '=', message.id)
      .execute()
    expect(held).toEqual([])
  })

  test('an upload that was taken off stays its uploader’s for a while, and may be used again', async () => {
    const { ann, bob } = environment.people
    const attachments = [await note(ann)]
    const message = await ann.sends(environment.channel.open, { attachments })
    await ann.delete(`/messages/${message.id}`)
    await ann.sends(environment.channel.open, { attachments })
    environment.pass(2 * dayMs)
    expect(await uploadRow(attachments[0]!.filename)).toMatchObject({ idleSince: null })
    environment.pass(-2 * dayMs)
    expect(await statusesOf(`/files/${attachments[0]!.filename}`, bob)).toEqual([200])
  })
})
