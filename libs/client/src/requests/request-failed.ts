import type { ErrorBody } from '@parley/contract'

/** A request that was refused, or that got no answer at all. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  /** Stable and machine-readable, such as `duplicate`; `no_answer` when none came. */
  readonly code: string
  /** For the operator of the server. */
  readonly requestId: string | undefined
  /** Seconds after which another try makes sense, when the server said so. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    message: string,
    details: { code?: string; requestId?: string; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    this.status = status
    this.code = details.code ?? `http_${status}`
    this.requestId = details.requestId
    this.retryAfter = details.retryAfter
  }

  /** The server's own sentence. */
  get error(): string {
    return this.message
  }

  /** Whether the same request would be refused again: the server has decided, and was not just busy or slow. */
  get isRefusal(): boolean {
    return this.status >= 400 && this.status < 500 && ![408, 425, 429].includes(this.status)
  }

  /** Reads the refusal out of a reply; one that is not Parley's (a proxy's page) becomes its status. */
  static async from(response: Response): Promise<RequestFailed> {
    const body = (await response.json().catch(() => ({}))) as Partial<ErrorBody>
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    return new RequestFailed(response.status, body.error ?? `The server answered ${response.status}`, {
      code: body.code,
      requestId: body.requestId,
      retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    })
  }

  static noAnswer = (cause: unknown) => new RequestFailed(0, 'The server did not answer', { code: 'no_answer', cause })
}
