/**
 * - `invalid`: no http or https address.
 * - `forbidden`: it leads to an address that this server does not call.
 * - `unknown`: the name does not exist.
 * - `unreachable`: no connection, or it broke.
 * - `slow`: the reply was not there in time.
 * - `redirected`: more redirects than are followed.
 */
export type FailureReason = 'invalid' | 'forbidden' | 'unknown' | 'unreachable' | 'slow' | 'redirected'

/** A request without a reply. The message is a sentence for whoever gave the address. */
export class RequestFailed extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'RequestFailed'
    this.reason = reason
  }
}
