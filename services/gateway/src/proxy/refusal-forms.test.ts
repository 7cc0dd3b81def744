import { describe, expect, test } from 'vitest'
import { startGateway } from '../gateway.testing.ts'

/** Sends a request to a gateway whose services are all unavailable. */
async function ask(path: string, { method = 'POST', authorization = '', body = '{}', more = {} } = {}) {
  const { url, authorized } = await startGateway({})
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: authorization || authorized.authorization, 'content-type': 'application/json', ...more },
    ...(method !== 'GET' && { body }),
  })
  const { status, headers } = response
  return { status, type: headers.get('content-type'), headers, text: await response.text() }
}

const tooLarge = 'x'.repeat(1024 * 1024 + 1)

describe('the gateway’s own refusals have the form of the protocol', () => {
  const scimError = 'urn:ietf:params:scim:api:messages:2.0:Error'
  const scimType = 'application/scim+json; charset=utf-8'

  test('SCIM: a token that is not valid, and a directory that is unavailable', async () => {
    const refused = await ask('/scim/v2/Users', { method: 'GET', authorization: 'Bearer nothing' })
    expect(refused).toMatchObject({ status: 401, type: scimType })
    expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    expect(JSON.parse(refused.text)).toMatchObject({ schemas: [scimError], status: '401' })

    const unavailable = await ask('/scim/v2/Users', { method: 'GET' })
    expect(unavailable).toMatchObject({ status: 503, type: scimType })
    expect(unavailable.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(JSON.parse(unavailable.text)).toMatchObject({ schemas: [scimError], status: '503' })

    const compressed = await ask('/scim/v2/Users', { more: { 'content-encoding': 'gzip' } })
    expect(compressed).toMatchObject({ status: 415, type: scimType })
    expect(JSON.parse(compressed.text)).toMatchObject({ schemas: [scimError], status: '415' })
  })

  test('incoming webhooks: one word', async () => {
    const plain = { type: 'text/plain; charset=utf-8' }
    expect(await ask('/hooks/a/b')).toMatchObject({ ...plain, status: 503, text: 'service_unavailable' })
    expect(await ask('/hooks/responses/a/b')).toMatchObject({ ...plain, status: 503, text: 'service_unavailable' })
    expect(await ask('/hooks/a/b', { body: tooLarge })).toMatchObject({
      ...plain,
      status: 413,
      text: 'payload_too_large',
    })
  })

  test('Slack’s web API: an error code of Slack', async () => {
    const json = { type: 'application/json; charset=utf-8' }
    const unavailable = await ask('/slack/api/auth.test')
    expect(unavailable).toMatchObject({ ...json, status: 503, text: '{"ok":false,"error":"service_unavailable"}' })
    const refused = await ask('/slack/api/auth.test', { body: tooLarge })
    expect(refused).toMatchObject({ ...json, status: 200, text: '{"ok":false,"error":"request_too_large"}' })
  })

  test('everything else: Parley’s own form', async () => {
    const unavailable = await ask('/channels', { method: 'GET' })
    expect(unavailable.status).toBe(503)
    expect(JSON.parse(unavailable.text)).toMatchObject({ code: 'unavailable', error: expect.any(String) })
  })
})
