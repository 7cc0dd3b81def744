/**
 * Why a request got no response:
 * - `invalid`: the address is not an http or https URL, or has a password.
 * - `forbidden`: the URL leads to an address that this server does not call.
 * - `unknown`: the name does not exist.
 * - `unreachable`: there was no connection, or it broke.
 * - `slow`: the response did not arrive in time.
 * - `redirected`: there were more redirects than the request allows.
 */
type FailureReason = 'invalid' | 'forbidden' | 'unknown' | 'unreachable' | 'slow' | 'redirected'

/** A request that got no response. The message is a sentence for the person who entered the address. */
export class RequestFailed extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'RequestFailed'
    this.reason = reason
  }
}
