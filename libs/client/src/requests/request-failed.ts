import type { ErrorBody } from '@parley/contract'

/** Turns an error with one of these statuses into `undefined`: `request.catch(undefinedOn(404))`. Other errors stay. */
export const undefinedOn =
  (...statuses: number[]) =>
  (error: unknown): undefined => {
    if (!(error instanceof RequestFailed && statuses.includes(error.status))) throw error
  }

/** The error of a request that the server refused, or that got no response. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  /** The HTTP status. It is 0 when no response came. */
  readonly status: number
  /** A stable code for programs, such as `duplicate`. It is `no_answer` when no response came. */
  readonly code: string
  /** The id of the request in the log of the server. */
  readonly requestId: string | undefined
  /** The time in seconds after which to retry, from `Retry-After`. */
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

  /** The error sentence of the server. */
  get error(): string {
    return this.message
  }

  /** Whether the server would refuse the same request again. It is false when the server was only busy or slow. */
  get isRefusal(): boolean {
    const { status } = this
    return status >= 400 && status < 500 && ![408, 425, 429].includes(status)
  }

  /** Reads the error from a response. For a response that is not from Parley, such as a proxy's page, only the status is used. */
  static async from(response: Response): Promise<RequestFailed> {
    const body = (await response.json().catch(() => ({}))) as Partial<ErrorBody>
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    return new RequestFailed(response.status, body.error ?? `The server responded with ${response.status}`, {
      code: body.code,
      requestId: body.requestId,
      retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    })
  }

  static noResponse = (cause: unknown) =>
    new RequestFailed(0, 'The server did not respond', { code: 'no_answer', cause })
}
