import { freePort } from '@parley/embedded'
import { Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import type { FilesCompleteUploadExternalResponse, WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient, wordOf } from './slack-client.testing.ts'

/** The address of an upload begins with `auth.appUrl`, so the server must listen at that address. */
const port = await freePort()
const environment = testEnvironment({ server: { port }, auth: { appUrl: `http://127.0.0.1:${port}` } })
const clientWith = (token: string | undefined) => slackClient(environment, token)
let slack: WebClient
beforeAll(() => {
  slack = clientWith(environment.people.ann.token)
})

const send = async (url: string, body: BodyInit, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { method: 'POST', body, headers })
  return { status: response.status, body: (await response.json()) as { error?: string; size?: number } }
}
const announce = async (filename: string, bytes: Buffer, client = slack) => {
  const { upload_url: url, file_id: id } = await client.files.getUploadURLExternal({ filename, length: bytes.length })
  return { url: url!, id: id! }
}
const asForm = (bytes: Buffer) => {
  const form = new FormData()
  form.set('filename', new Blob([new Uint8Array(bytes)]), 'whatever.bin')
  return form
}

describe('the files API for @slack/web-api', () => {
  test('the files of a message have addresses, from which programs download them with their token', async () => {
    const { ann, cat } = environment.people
    const { secret } = environment.channel
    const uploads = [
      { file: samples.pdf, filename: 'manual.pdf' },
      { file: samples.png, filename: 'curve.png' },
    ]
    await slack.files.uploadV2({ channel_id: secret.id, file_uploads: uploads })
    const { messages } = await slack.conversations.history({ channel: secret.id, limit: 1 })
    const files = messages?.[0]?.files ?? []
    expect(files).toMatchObject([
      { name: 'manual.pdf', title: 'manual.pdf', filetype: 'pdf', mimetype: 'application/pdf', mode: 'hosted' },
      { filetype: 'png', mimetype: 'image/png' },
    ])
    const download = async (url: string, token: string | undefined) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
    }
    for (const [n, { url_private, url_private_download: url }] of files.entries()) {
      expect(url_private).toBe(url)
      expect(await download(url!, ann.token)).toEqual({ status: 200, bytes: uploads[n]!.file })
      expect(await download(url!, cat.token)).toMatchObject({ status: 403 })
    }
  })

  test('puts files and images on one message, with files.uploadV2', async () => {
    const { bob } = environment.people
    const { secret } = environment.channel
    const uploads = [
      { file: samples.pdf, filename: 'report.pdf' },
      { file: samples.png, filename: 'panel.png' },
    ]
    const done = (await slack.files.uploadV2({
      channel_id: secret.id,
      initial_comment: 'See <https://x.example|this> &amp; that',
      file_uploads: uploads,
    })) as unknown as { files: FilesCompleteUploadExternalResponse[] }
    expect(done.files.flatMap(({ files }) => files?.map(({ name, mimetype, size }) => [name, mimetype, size]))).toEqual(
      [
        ['report.pdf', 'application/pdf', samples.pdf.length],
        ['panel.png', 'image/png', samples.png.length],
      ],
    )
    const { messages } = (await bob.get(`/channels/${secret.id}/messages`)).body
    const message = messages.at(-1)
    expect(message).toMatchObject({
      content: 'See [this](https://x.example) & that',
      attachments: [{ originalName: 'report.pdf', size: samples.pdf.length }],
      images: [expect.stringMatching(/\.png$/)],
    })
    expect(await bob.get(`/channels/${secret.id}/messages/image/${message.images[0]}`)).toMatchObject({ status: 200 })
    expect(await bob.get(`/files/${message.attachments[0].filename}`)).toMatchObject({ status: 200 })

    const [shown] = (await slack.conversations.history({ channel: secret.id, limit: 1 })).messages!
    expect(shown!.files?.map(({ name }) => name)).toEqual(['report.pdf', message.images[0]])

    for (const id of [message.attachments[0].filename, message.images[0]]) {
      const { file } = await clientWith(bob.token).files.info({ file: id })
      expect(file).toMatchObject({ id, user: environment.people.ann.id, groups: [secret.id], channels: [] })
      const headers = { authorization: `Bearer ${bob.token}` }
      expect((await fetch(file!.url_private!, { headers })).status).toBe(200)
      expect(await wordOf(clientWith(environment.people.cat.token).files.info({ file: id }))).toBe('file_not_found')
    }
  })

  test('accepts bytes and forms, replies in threads and direct messages, and files that are not shared', async () => {
    const { bob } = environment.people
    const { open } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: open.id, text: 'parent' })
    const announced = await announce('notes.txt', samples.txt)
    expect(await send(announced.url, asForm(samples.txt))).toMatchObject({
      status: 200,
      body: { size: samples.txt.length },
    })
    await slack.files.completeUploadExternal({ files: [{ id: announced.id }], channel_id: open.id, thread_ts: ts! })
    const { messages } = await slack.conversations.replies({ channel: open.id, ts: ts! })
    expect(messages).toHaveLength(2)

    const direct = await announce('photo.png', samples.png)
    expect((await send(direct.url, new Uint8Array(samples.png))).status).toBe(200)
    await slack.files.completeUploadExternal({ files: [{ id: direct.id }], channel_id: bob.id })
    expect((await clientWith(bob.token).files.info({ file: direct.id })).file?.ims).toHaveLength(1)

    const own = await announce('own.png', samples.png)
    await send(own.url, new Uint8Array(samples.png))
    await slack.files.completeUploadExternal({ files: [{ id: own.id, title: 'mine' }] })
    expect((await slack.files.info({ file: own.id })).file).toMatchObject({ name: 'own.png', channels: [] })
    expect(await wordOf(clientWith(bob.token).files.info({ file: own.id }))).toBe('file_not_found')
  })

  test('an upload is completed once, also by several calls at the same time', async () => {
    const { ann } = environment.people
    const { id: channel } = await ann.creates({ name: `once ${crypto.randomUUID()}` })
    const parent = await slack.chat.postMessage({ channel, text: 'parent' })
    const upload = async () => {
      const { url, id } = await announce('notes.txt', samples.txt)
      await send(url, new Uint8Array(samples.txt))
      return { id }
    }
    const complete = (files: { id: string }[], more: object = {}) =>
      wordOf(slack.apiCall('files.completeUploadExternal', { files, channel_id: channel, ...more }))
    const repeat = (call: () => Promise<unknown>) => Promise.all(Array.from({ length: 5 }, call))
    const onlyOne = ['file_not_found', 'file_not_found', 'file_not_found', 'file_not_found', 'ok']

    const [one, two, three] = [await upload(), await upload(), await upload()]
    expect((await repeat(() => complete([one]))).sort()).toEqual(onlyOne)
    expect((await repeat(() => complete([two], { thread_ts: parent.ts }))).sort()).toEqual(onlyOne)
    const [four, five, six] = [await upload(), await upload(), await upload()]
    const pairs = [[four, five], [five, six], [six, four], [four], [five], [six]]
    await Promise.all(pairs.map((files) => complete(files)))
    await Promise.all(pairs.map((files) => complete(files)))
    for (const files of pairs) expect(await complete(files)).toBe('file_not_found')
    const { messages: all = [] } = await slack.conversations.history({ channel })
    const completed = all.flatMap(({ files = [] }) => files.map(({ id }) => id!))
    expect(completed.sort()).toEqual([one, four, five, six].map(({ id }) => id).sort())
    for (const files of [[one], [two], [three, one]]) expect(await complete(files)).toBe('file_not_found')
    expect(await complete([one], { channel_id: '' })).toBe('file_not_found')
    expect(await complete([three], { channel_id: '' })).toBe('ok')
    const { messages } = await slack.conversations.history({ channel })
    expect(messages!.slice(-2)).toMatchObject([{ files: [one] }, { text: 'parent', reply_count: 1 }])
  })

  test('refuses files that Parley does not store, with Slack’s error codes', async () => {
    const ask = (filename: string, length: number) => wordOf(slack.files.getUploadURLExternal({ filename, length }))
    expect(await ask('setup.exe', 9)).toBe('file_type_not_allowed')
    expect(await ask('no extension', 9)).toBe('file_type_not_allowed')
    expect(await ask('large.zip', 26 * 1024 * 1024)).toBe('file_upload_size_restricted')
    expect(await ask('large.png', 11 * 1024 * 1024)).toBe('file_upload_size_restricted')
    expect(await ask('empty.txt', 0)).toBe('missing_argument')
    expect(await ask('', 9)).toBe('missing_argument')
    const complete = (files: object, more: object = {}) =>
      wordOf(slack.apiCall('files.completeUploadExternal', { files, channel_id: environment.channel.open.id, ...more }))
    for (const files of [{}, [], ['x'], [{ id: 7 }], Array.from({ length: 51 }, (_, n) => ({ id: `${n}` }))])
      expect(await complete(files)).toBe('invalid_arguments')
    const refused = await slack.apiCall('files.completeUploadExternal', { files: {} }).catch(({ data }) => data)
    expect(refused.details).toBe('files must be a list of 1 to 50 files with an id')
    const { id } = await announce('never.txt', samples.txt)
    expect(await complete([{ id }])).toBe('file_not_found')
    expect(await wordOf(slack.files.info({ file: id }))).toBe('file_not_found')
    expect(await wordOf(slack.files.info({ file: '../etc/passwd' }))).toBe('file_not_found')
  })

  test('does not let people send, share or see more than they may', async () => {
    const { ann, cat, ada } = environment.people
    const { secret, open } = environment.channel
    const uploaded = await announce('plan.txt', samples.txt)
    await send(uploaded.url, new Uint8Array(samples.txt))
    const files: [{ id: string }] = [{ id: uploaded.id }]
    const outside = clientWith(cat.token)
    expect(await wordOf(outside.files.completeUploadExternal({ files, channel_id: open.id }))).toBe('file_not_found')
    const ofCat = await announce('plan.txt', samples.txt, outside)
    await send(ofCat.url, new Uint8Array(samples.txt))
    expect(
      await wordOf(outside.files.completeUploadExternal({ files: [{ id: ofCat.id }], channel_id: secret.id })),
    ).toBe('not_in_channel')
    const reads = (await ann.post('/auth/tokens', { name: 'reads', scopes: ['read'] })).body
    const reading = clientWith(reads.token)
    expect(await wordOf(reading.files.getUploadURLExternal({ filename: 'a.txt', length: 1 }))).toBe('missing_scope')
    expect(await wordOf(reading.files.completeUploadExternal({ files, channel_id: open.id }))).toBe('missing_scope')

    // The address works only as long as the token with which it was requested.
    const writes = (await ann.post('/auth/tokens', { name: 'writes', scopes: ['write'] })).body
    const late = await announce('late.txt', samples.txt, clientWith(writes.token))
    expect((await ann.delete(`/auth/tokens/${writes.id ?? writes.apiToken?.id}`)).status).toBe(200)
    expect((await send(late.url, new Uint8Array(samples.txt))).status).toBe(401)

    const guest = await Person.signIn(environment.baseUrl, 'guest@example.com')
    expect((await ada.put(`/users/${guest.id}/role`, { role: 'guest' })).status).toBe(200)
    const ofGuest = await announce('plan.txt', samples.txt, clientWith(guest.token))
    await send(ofGuest.url, new Uint8Array(samples.txt))
    const share = (channel_id: string) =>
      wordOf(clientWith(guest.token).files.completeUploadExternal({ files: [{ id: ofGuest.id }], channel_id }))
    expect(await share(open.id)).toBe('not_in_channel')
    expect((await ann.put(`/channels/${secret.id}`, { members: [environment.people.bob.id, guest.id] })).status).toBe(
      200,
    )
    expect(await share(secret.id)).toBe('ok')
  })

  test('returns an address that accepts the announced bytes, once, within half an hour', async () => {
    const { url } = await announce('one.txt', samples.txt)
    expect((await send(url, 'too short')).status).toBe(400)
    expect((await send(url, new Uint8Array(samples.txt))).status).toBe(200)
    expect((await send(url, new Uint8Array(samples.txt))).status).toBe(200)
    expect((await send(url, 'SOME NOTES\n')).status).toBe(400)
    for (const pass of ['', 'nonsense', `${new URL(url).searchParams.get('pass')}A`]) {
      expect((await send(`${environment.baseUrl}/slack/files?pass=${pass}`, 'x')).status).toBe(401)
    }
    expect((await send(`${environment.baseUrl}/slack/files`, 'x')).status).toBe(401)
    const late = await announce('late.txt', samples.txt)
    environment.pass(30 * 60_000)
    expect((await send(late.url, new Uint8Array(samples.txt))).status).toBe(401)
    environment.pass(-30 * 60_000)
  })

  test('refuses hostile forms', async () => {
    const { url } = await announce('one.txt', samples.txt)
    const form = { 'content-type': 'multipart/form-data; boundary=b' }
    const parts = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(100_000)
    for (const body of ['', '--b', '--b--', parts, '--b\r\n\r\n\r\n--b--', `${parts.slice(0, 59)}--b--`]) {
      expect(await send(url, body, form)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    }
    const large = `--b\r\n${'x: y\r\n'.repeat(2_000)}`
    const file = 'content-disposition: form-data; name="a"; filename="a.txt"\r\n\r\n'
    expect((await send(url, `${large}${file}${samples.txt}\r\n--b--\r\n`, form)).body.error).toMatch(
      /headers .* too long/,
    )
    for (const fields of ['', '; boundary=', '; boundary="a\\b"', `; boundary=${'b'.repeat(71)}`]) {
      expect((await send(url, 'x', { 'content-type': `multipart/form-data${fields}` })).status).toBe(400)
    }
    // One parser reads the first boundary, another one the second.
    const twice = { 'content-type': 'multipart/form-data; x="; boundary=other"; boundary=b' }
    const whole = `${parts.slice(0, 30 * 59)}--b\r\n${file}${samples.txt}\r\n--b--\r\n`
    expect((await send(url, whole, twice)).status).toBe(400)
    const disguised = await announce('one.pdf', samples.png)
    expect((await send(disguised.url, new Uint8Array(samples.png))).status).toBe(400)
  })
})
