import { type Attachment, unavailable } from '@parley/contract'
import { type HttpResponse, Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment({ uploads: { maxUnattachedBytes: 1_000_000 } })
const newcomer = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const text = (bytes: number) => 'x'.repeat(bytes)
const uploads = (person: Person, bytes: number): Promise<HttpResponse> =>
  person.post('/files', { filename: 'a.txt', file: Buffer.from(text(bytes)).toString('base64') })
const statuses = (responses: HttpResponse[]) => responses.map(({ status }) => status)

describe('unattached uploads', () => {
  test('are limited for each person, also with twenty concurrent uploads', async () => {
    const [one, other] = [await newcomer('one'), await newcomer('other')]
    const responses = await Promise.all(Array.from({ length: 20 }, () => uploads(one, 100_000)))
    const kept = responses.filter(({ status }) => status === 200)
    expect(kept).toHaveLength(10)
    // 429: more than 16 uploads run at once.
    expect(statuses(responses).filter((status) => ![200, 400, 429].includes(status))).toEqual([])
    const refused = responses.find(({ status }) => status === 400)
    expect(refused!.body).toMatchObject({
      code: 'quota_exceeded',
      error: expect.stringMatching(/unattached uploads would exceed/),
    })
    expect(await uploads(other, 100_000)).toMatchObject({ status: 200 })

    const attachments = kept.slice(0, 3).map(({ body }) => body.attachment as Attachment)
    const message = await one.sends(environment.channel.open, { attachments })
    expect(statuses([await uploads(one, 300_000), await uploads(one, 10)])).toEqual([200, 400])

    await one.delete(`/messages/${message.id}`)
    expect(await uploads(one, 10)).toMatchObject({ status: 400 })
  })

  test('count with the thumbnails that came with them', async () => {
    const person = await newcomer('painter')
    const thumbnail = Buffer.concat([samples.jpg, Buffer.alloc(400_000)]).toString('base64')
    const image = { filename: 'a.png', image: samples.png.toString('base64'), thumbnail }
    const path = `/channels/${environment.channel.open.id}/messages/image`
    const responses = []
    for (let n = 0; n < 3; n++) responses.push(await person.post(path, image))
    expect(statuses(responses)).toEqual([200, 200, 400])
  })

  test('count with a smallest size', async () => {
    const person = await newcomer('dwarf')
    const { db } = environment.deps
    const row = { kind: 'file', channelId: null, originalName: 'a.txt', contentType: 'text/plain', size: 1 } as const
    const about = { digest: Buffer.alloc(32), uploadedBy: person.id, createdAt: 1, storedAt: 1, idleSince: 1 }
    const rows = Array.from({ length: 244 }, (_, n) => ({ ...row, ...about, filename: `dwarf-${n}.txt` }))
    await db.insertInto('uploads').values(rows).execute()
    expect(await uploads(person, 1)).toMatchObject({ status: 400 })
  })

  test('that could not be stored count no longer than a quarter of an hour', async () => {
    const person = await newcomer('unlucky')
    const { blobs } = environment.depsOf('messaging')
    const { put } = blobs
    blobs.put = async () => {
      throw unavailable()
    }
    try {
      expect(await uploads(person, 900_000)).toMatchObject({ status: 503 })
    } finally {
      blobs.put = put
    }
    expect(await uploads(person, 200_000)).toMatchObject({ status: 400 })
    environment.pass(16 * 60_000)
    expect(await uploads(person, 200_000)).toMatchObject({ status: 200 })
  })
})
