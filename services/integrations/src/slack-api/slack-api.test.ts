import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

describe('the web API', () => {
  const environment = testEnvironment()
  const call = async (method: string, init: RequestInit = { method: 'POST' }) => {
    const response = await fetch(`${environment.baseUrl}/slack/api/${method}`, init)
    return { status: response.status, body: (await response.json()) as { ok: boolean; error?: string } }
  }
  const json = (body: string): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body,
  })

  test('accepts arguments from the query, a form and JSON', async () => {
    const args = { foo: 'bar baz' }
    expect(await call('api.test?foo=bar+baz', {})).toEqual({ status: 200, body: { ok: true, args } })
    const form = { method: 'POST', body: new URLSearchParams({ ...args, token: 'secret' }) }
    expect((await call('api.test', form)).body).toEqual({ ok: true, args })
    expect((await call('api.test', json(JSON.stringify(args)))).body).toEqual({ ok: true, args })
  })

  test('accepts arguments in a form with parts, as `curl -F` sends it', async () => {
    const { ann } = environment.people
    const { open } = environment.channel
    const formOf = (args: Record<string, string | undefined>) => {
      const body = new FormData()
      for (const [name, value] of Object.entries(args)) body.set(name, value ?? '')
      return { method: 'POST', body }
    }
    const args = { foo: 'bär baz\r\n', __proto: 'x' }
    expect((await call('api.test', formOf({ ...args, token: 'secret' }))).body).toEqual({ ok: true, args })
    const text = `by a form ${crypto.randomUUID()}`
    const blocks = JSON.stringify([{ type: 'header', text: { type: 'plain_text', text } }])
    const posting = formOf({ token: ann.token, channel: open.id, text, blocks })
    posting.body.set('file', new Blob(['ignored']), 'a.txt')
    const posted = (await call('chat.postMessage', posting)).body
    expect(posted).toMatchObject({ ok: true, message: { text: `${text}\n*${text}*` } })
    expect((await call('auth.test', formOf({ token: 'x' }))).body.error).toBe('invalid_auth')
    const details = 'The character U+0000 is not allowed in text'
    expect((await call('auth.test', formOf({ x: '\0' }))).body).toMatchObject({ error: 'invalid_arguments', details })
  })

  test('refuses unreadable and hostile forms', async () => {
    const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n'
    const send = async (body: string, type = 'multipart/form-data; boundary=b') => {
      const { status, body: answer } = await call('api.test', {
        method: 'POST',
        body,
        headers: { 'content-type': type },
      })
      return [status, answer.error ?? answer]
    }
    expect(await send(`${part.repeat(50)}--b--\r\n`)).toEqual([200, { ok: true, args: { a: 'x' } }])
    const header = `--b\r\n${'x: y\r\n'.repeat(2_000)}${part.slice(5)}--b--\r\n`
    for (const body of ['x', '--b', part, `${part.repeat(51)}--b--\r\n`, '--b\r\n\r\nx\r\n--b--\r\n', header])
      expect(await send(body)).toEqual([200, 'invalid_form_data'])
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary="ä"'])
      expect(await send(`${part}--b--\r\n`, type)).toEqual([200, 'invalid_form_data'])
    expect(await send(`${part}${'x'.repeat(2 * 1024 * 1024)}`)).toEqual([200, 'request_too_large'])
  })

  test('has no internal error for half a character of two code units', async () => {
    const { ann } = environment.people
    const ask = async (method: string, args: object) => {
      const { headers, ...request } = json(JSON.stringify(args))
      const init = { ...request, headers: { ...headers, authorization: `Bearer ${ann.token}` } }
      return (await call(method, init)).body
    }
    for (const channel of ['\ud83d', 'dm:\ud83d']) {
      expect((await ask('conversations.history', { channel })).error).toBe('channel_not_found')
      expect((await ask('chat.postMessage', { channel, text: 'x' })).error).toBe('channel_not_found')
    }
    const { id, name } = await ann.creates({ name: `a${'😀'.repeat(60)}` })
    expect(await ask('chat.postMessage', { channel: `#${name}`, text: 'x' })).toMatchObject({ ok: true, channel: id })
  })

  test('has no internal error for objects that cannot be converted to text or a number', async () => {
    const { ann } = environment.people
    const { open } = environment.channel
    const noText = { toString: 1 }
    const ask = async (method: string, args: object) => {
      const { headers, ...request } = json(JSON.stringify(args))
      const init = { ...request, headers: { ...headers, authorization: `Bearer ${ann.token}` } }
      return (await call(method, init)).body
    }
    const text = 'well said'
    expect((await ask('chat.postMessage', { channel: open.id, text, thread_ts: noText })).error).toBe(
      'thread_not_found',
    )
    expect(await ask('conversations.history', { channel: open.id, limit: noText, oldest: noText })).toMatchObject({
      ok: true,
    })
    expect((await ask('chat.delete', { channel: open.id, ts: noText })).error).toBe('message_not_found')
    const attachments = [{ text, footer: text, ts: noText }]
    expect(await ask('chat.postMessage', { channel: open.id, attachments })).toMatchObject({ ok: true })
    const elements = [
      { type: 'emoji', name: noText },
      { type: 'text', text },
    ]
    const blocks = [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }]
    expect((await ann.post(`/channels/${open.id}/messages`, { content: text, blocks })).status).toBe(200)
  })

  test('refuses in Slack’s words, with status 200', async () => {
    const refusal = async (method: string, init?: RequestInit) => {
      const { status, body } = await call(method, init)
      expect([status, body.ok]).toEqual([200, false])
      return body.error
    }
    expect(await refusal('api.test?error=my_error')).toBe('my_error')
    expect(await refusal('no.such.method')).toBe('unknown_method')
    expect(await refusal('constructor')).toBe('unknown_method')
    expect(await refusal('api.test', json('{'))).toBe('invalid_json')
    expect(await refusal('api.test', json('[]'))).toBe('json_not_object')
    expect(await refusal('api.test', json('{"a":"\\u0000"}'))).toBe('invalid_arguments')
    expect(await refusal('api.test', { method: 'POST', body: new URLSearchParams({ a: '\0' }) })).toBe(
      'invalid_arguments',
    )
    expect(await refusal('api.test', { method: 'POST', body: 'plain text' })).toBe('invalid_post_type')
  })
})
