import { createClient, RequestFailed, tokensInMemory } from '@parley/client'
import { expect, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

export function uploadJourneys(server: ClientServer) {
  const bytes = 1_500_000

  const clientOf = () => {
    const { token, refreshToken } = server.people.ann
    return createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: token!, refreshToken }),
    })
  }

  test('an upload reports its progress, and the download is equal to the upload', async () => {
    const client = clientOf()
    const body = new Blob(
      ['%PDF-1.7\n', crypto.getRandomValues(new Uint8Array(60_000)), new Uint8Array(bytes - 60_009)],
      {
        type: 'application/pdf',
      },
    )
    const told: number[] = []
    const { attachment } = await client.request('POST /files/binary', {
      query: { filename: 'report.pdf' },
      body,
      onProgress: ({ sentBytes, totalBytes }) => {
        expect(totalBytes).toBe(bytes)
        told.push(sentBytes)
      },
    })
    expect(attachment).toMatchObject({ originalName: 'report.pdf', size: bytes, contentType: 'application/pdf' })
    expect(told.length).toBeGreaterThan(10)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    expect(told.at(-1)).toBe(bytes)
    const file = await client.request('GET /files/:filename', { params: { filename: attachment.filename } })
    expect(Buffer.from(await file.arrayBuffer()).equals(Buffer.from(await body.arrayBuffer()))).toBe(true)
  })

  test.each([
    ['text', 'text/plain', 'just words'],
    ['JSON', 'application/json', '{"a":1}'],
  ])('a file that contains %s is returned as a Blob', async (_, type, content) => {
    const client = clientOf()
    const { attachment } = await client.request('POST /files/binary', {
      query: { filename: `file.${type === 'text/plain' ? 'txt' : 'json'}` },
      body: new Blob([content], { type }),
    })
    const file = await client.request('GET /files/:filename', { params: { filename: attachment.filename } })
    expect(await file.text()).toBe(content)
  })

  test('an upload can be aborted', async () => {
    const leaving = new AbortController()
    const why = new Error('not this one')
    const upload = clientOf().request('POST /files/binary', {
      query: { filename: 'report.pdf' },
      body: new Blob([new Uint8Array(bytes)]),
      signal: leaving.signal,
      onProgress: () => leaving.abort(why),
    })
    await expect(upload).rejects.toBe(why)
  })

  test('an upload that is refused throws the error of the server', async () => {
    const upload = clientOf().request('POST /files/binary', {
      query: { filename: '' },
      body: new Blob(['x']),
      onProgress() {},
    })
    await expect(upload).rejects.toThrow(RequestFailed)
    await expect(upload).rejects.toMatchObject({ status: 400, error: expect.any(String) })
  })
}
