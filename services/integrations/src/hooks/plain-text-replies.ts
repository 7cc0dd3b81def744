import { asRefusal, logRefusal, refuseNul } from '@parley/service'
import { InvalidBlocks } from '@parley/slack'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'

/** A refusal of Slack's incoming webhooks. Its message is the body of the response: one word, such as `no_text`. */
export class HookRefusal extends Error {
  override readonly name = 'HookRefusal'
  readonly status: number
  readonly retryAfter: number | undefined

  constructor(status: number, word: string, retryAfter?: number) {
    super(word)
    this.status = status
    this.retryAfter = retryAfter
  }
}

export const plainText = Type.String({ description: 'One word, text/plain' })

/** Reads a body of any content type as text. Many programs send JSON with another type; `curl -d` declares a form. */
export function takeAnyText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}

/** Makes the routes of this app respond to refused requests with one word. */
export function answerInPlainText(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => {
    const refusal = refusalOf(error)
    logRefusal(request, error, refusal)
    return answer(reply, refusal)
  })
}

/** The payload of a body: JSON, or a form whose field `payload` has the JSON. @throws HookRefusal when it is not a JSON object. */
export function readPayload(body: unknown, contentType: string): Record<string, unknown> {
  const text = typeof body === 'string' ? body : ''
  const isForm = /^application\/x-www-form-urlencoded/i.test(contentType) && !text.trimStart().startsWith('{')
  try {
    const json = (isForm ? new URLSearchParams(text).get('payload') : text) || 'null'
    const payload = JSON.parse(json)
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new SyntaxError('no object')
    // JSON can write the character NUL only as this escape sequence.
    if (json.includes('\\u0000')) refuseNul(payload)
    return payload
  } catch {
    throw new HookRefusal(400, 'invalid_payload')
  }
}

function refusalOf(error: Error): HookRefusal {
  if (error instanceof HookRefusal) return error
  if (error instanceof InvalidBlocks) return new HookRefusal(400, 'invalid_blocks')
  const { status, retryAfter } = asRefusal(error)
  return refusalOfStatus(status, retryAfter)
}

/** The refusal that fits a status of Parley's own API. */
export function refusalOfStatus(status: number, retryAfter: number | undefined): HookRefusal {
  if (status === 401) return new HookRefusal(403, 'invalid_token')
  if (status === 404) return new HookRefusal(404, 'no_service')
  if (status === 413) return new HookRefusal(413, 'payload_too_large')
  if (status === 429) return new HookRefusal(429, 'rate_limited', retryAfter)
  if (status >= 500) return new HookRefusal(503, 'service_unavailable', retryAfter ?? 5)
  return new HookRefusal(400, 'invalid_payload')
}

function answer(reply: FastifyReply, { status, message, retryAfter }: HookRefusal) {
  if (retryAfter !== undefined) reply.header('retry-after', Math.ceil(retryAfter))
  return reply.code(status).type('text/plain; charset=utf-8').serializer(String).send(message)
}
