import { asRefusal } from '@parley/service'
import type { FastifyError, FastifyInstance } from 'fastify'

/** A refusal with an error code of Slack. */
export class SlackError extends Error {
  override readonly name = 'SlackError'
  readonly code: string
  /** Further fields of the reply, beside `error`. */
  readonly details: object

  constructor(code: string, details: object = {}) {
    super(code)
    this.code = code
    this.details = details
  }
}

type Refusal = ReturnType<typeof asRefusal>

/** Answers errors with `{ok: false, error}` and status 200, as Slack does. Only 429 and 503 keep their status and `Retry-After`. */
export function renderSlackErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | SlackError, request, reply) => {
    if (error instanceof SlackError) return reply.send({ ok: false, error: error.code, ...error.details })
    const refusal = asRefusal(error)
    const { status, retryAfter } = refusal
    if (status >= 500) request.log.error({ err: error, requestId: request.id }, 'request failed')
    if (retryAfter !== undefined) reply.header('retry-after', Math.ceil(retryAfter))
    return reply
      .code(status === 429 || status === 503 ? status : 200)
      .serializer(JSON.stringify)
      .send({ ok: false, error: errorCodeOf(refusal) })
  })
}

function errorCodeOf({ status, message }: Refusal): string {
  if (status === 400 && message === 'The body is not valid JSON') return 'invalid_json'
  if (status === 400 && message.includes('Content-Type')) return 'invalid_post_type'
  return errorCodesOfStatus[status] ?? (status >= 500 ? 'internal_error' : 'invalid_arguments')
}

const errorCodesOfStatus: Record<number, string> = {
  401: 'invalid_auth',
  413: 'request_too_large',
  429: 'ratelimited',
  503: 'service_unavailable',
}
