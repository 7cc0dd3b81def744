import { gunzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function exportJourneys(server: TestServer) {
  test('an admin asks for an export, sees how far it is, and downloads what GET /admin/export answers', async () => {
    const [admin, ann] = [await server.admin(), await server.newcomer('ann')]
    const message = await ann.says('to be taken along', await ann.creates({ name: server.unique('export') }))
    const asked = await admin.post('/admin/exports')
    expect(asked).toMatchObject({ status: 202, body: { state: 'waiting', requestedBy: admin.id } })
    const path = `/admin/exports/${asked.body.id}`
    expect(asked.headers.location).toBe(path)

    const { progress, size } = await vi.waitFor(
      async () => {
        const { body } = await admin.get(path)
        expect(body).toMatchObject({ state: 'ready', progress: { records: body.progress.total } })
        return body
      },
      { timeout: 60_000, interval: 50 },
    )
    const { status, bytes, headers } = await admin.downloads(`${path}/download`)
    expect({ status, type: headers['content-type'], size: bytes.length }).toEqual({
      status: 200,
      type: 'application/gzip',
      size,
    })
    const document = JSON.parse(gunzipSync(bytes).toString())
    const lists = Object.values(document).filter((value) => Array.isArray(value))
    expect(lists.reduce((sum, { length }) => sum + length, 0)).toBe(progress.records)
    expect(document.messages).toContainEqual(message)

    // The only change between the two exports is the audit entry of the second one.
    const whole = await admin.get('/admin/export')
    expect(whole.status).toBe(200)
    const { exportedAt, auditLog, ...rest } = whole.body
    expect(rest).toEqual({ ...document, exportedAt: undefined, auditLog: undefined })
    expect(auditLog.slice(0, -1)).toEqual(document.auditLog)

    for (const refused of [
      await ann.get('/admin/export'),
      await ann.post('/admin/exports'),
      await ann.get(path),
      await ann.get(`${path}/download`),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: { error: expect.any(String) } })
    }
  })
}
