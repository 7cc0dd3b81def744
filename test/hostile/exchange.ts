import http from 'node:http'
import { expect } from 'vitest'

export interface Exchange {
  status: number
  text: string
}

interface RawRequest {
  method: string
  /** The path is sent exactly like this, without normalisation by the client. */
  path: string
  headers?: http.OutgoingHttpHeaders
  body?: string | Buffer
}

const timeoutMs = 15_000

/** Sends one request on a separate connection. Rejects when there is no complete response within 15 s. */
export function exchange(baseUrl: string, { method, path, headers = {}, body }: RawRequest): Promise<Exchange> {
  const { hostname, port } = new URL(baseUrl)
  return new Promise((resolve, reject) => {
    // This is explicit, because Node would send the body of a DELETE without its length.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const request = http.request({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: false,
      timeout: timeoutMs,
    })
    let answered = false
    request.on('response', (response) => {
      answered = true
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString() }))
      response.on('error', reject)
    })
    request.on('timeout', () => request.destroy(new Error(`${method} ${path.slice(0, 200)} was not answered`)))
    // A response before the whole body was read is valid. The end of the connection after it is not an error.
    request.on('error', (error) => (answered ? undefined : reject(error)))
    request.end(body)
  })
}

/** A refusal: 4xx, with a sentence. */
export function expectRefusal(answer: Exchange, what: string): void {
  expect(answer.status, `${what} → ${answer.status} ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400)
  expectSanity(answer, what)
}

/** Checks any response: the server must not fail, and a refusal must have its reason. */
export function expectSanity({ status, text }: Exchange, what: string): void {
  const said = `${what} → ${status} ${text.slice(0, 300)}`
  expect(status, said).toBeLessThan(500)
  if (status < 400) return
  const { error } = parse(text)
  expect(typeof error, said).toBe('string')
  expect(error, said).not.toBe('')
  // The rules of CONTRIBUTING for error sentences, as far as a program can judge them.
  expect(error, said).not.toMatch(/\.$|must be (?:string|integer|object|array|boolean)\b|undefined|\[object/)
  expect(text, said).not.toMatch(/node_modules|\bat .+:\d+:\d+|select .+ from/i)
}

function parse(text: string): { error?: unknown } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
