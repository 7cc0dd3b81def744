import { ApiError } from '@parley/contract'

/** Why a sign-in through a provider failed, as programs read it. A code is never renamed. */
export type OauthFailureCode =
  | 'invalid_state'
  | 'missing_code'
  | 'access_denied'
  | 'rate_limited'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'no_verified_email'
  | 'unusable_email'
  | 'not_invited'
  | 'sign_in_failed'

const sentences: Record<OauthFailureCode, string> = {
  invalid_state: 'The sign-in has expired or was not started in this browser. Please try again.',
  missing_code: 'The provider did not answer with a code. Please try again.',
  access_denied: 'The provider did not let you sign in.',
  rate_limited: 'Too many sign-in attempts. Please try again later.',
  provider_unavailable: 'The provider does not answer as it should. Please try again later.',
  provider_refused: 'The provider refused the sign-in. Please try again.',
  no_verified_email: 'The provider knows no verified e-mail address of yours.',
  unusable_email: 'The provider knows you by an e-mail address that is not accepted here.',
  not_invited: 'Nobody with your e-mail address was invited. Please ask an admin.',
  sign_in_failed: 'The sign-in failed. Please try again.',
}

/**
 * A sign-in that failed: the browser is sent back to the application with it. `cause` is for the log and must hold
 * nothing of what the provider answered: codes, tokens and addresses.
 */
export class OauthFailure extends Error {
  readonly code: OauthFailureCode

  constructor(code: OauthFailureCode, options?: ErrorOptions) {
    super(sentences[code], options)
    this.name = 'OauthFailure'
    this.code = code
  }
}

/**
 * What was thrown, as a failure to tell the browser. A refusal of our own (somebody was removed meanwhile) is one too; what
 * is neither, such as a database that is away, is thrown on.
 */
export function asOauthFailure(error: unknown): OauthFailure {
  if (error instanceof OauthFailure) return error
  if (error instanceof ApiError && error.status < 500) return new OauthFailure('sign_in_failed', { cause: error })
  throw error
}
