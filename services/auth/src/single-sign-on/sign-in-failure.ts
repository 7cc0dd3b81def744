import { AccountDeactivated } from '@parley/accounts'
import { ApiError } from '@parley/contract'

/** Why a sign-in through a provider failed, as a code for programs. Codes are never renamed. */
export type SignInFailureCode =
  | 'invalid_state'
  | 'missing_code'
  | 'access_denied'
  | 'rate_limited'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'no_verified_email'
  | 'unusable_email'
  | 'domain_not_allowed'
  | 'already_linked'
  | 'not_invited'
  | 'account_deactivated'
  | 'sign_in_failed'

const sentences: Record<SignInFailureCode, string> = {
  invalid_state: 'The sign-in has expired or was not started in this browser. Please try again.',
  missing_code: 'The provider sent no code. Please try again.',
  access_denied: 'The provider did not let you sign in.',
  rate_limited: 'Too many sign-in attempts. Please try again later.',
  provider_unavailable: 'The provider cannot be reached or its answer is not valid. Please try again later.',
  provider_refused: 'The provider refused the sign-in. Please try again.',
  no_verified_email: 'The provider has no verified e-mail address for you.',
  unusable_email: 'The e-mail address that the provider has for you is not accepted here.',
  domain_not_allowed: 'E-mail addresses of your domain cannot sign in here.',
  already_linked: 'The account with your e-mail address belongs to somebody else at the provider. Please ask an admin.',
  not_invited: 'There is no invitation for your e-mail address. Please ask an admin.',
  account_deactivated: 'This account is deactivated. Please ask an admin.',
  sign_in_failed: 'The sign-in failed. Please try again.',
}

/**
 * A failed sign-in. The browser is sent back to the application with its code. `cause` is for the log, and must contain
 * nothing from the provider's answer, such as codes, tokens and addresses.
 */
export class SignInFailure extends Error {
  readonly code: SignInFailureCode
  /** Whose account it was, if the failure is about one. */
  readonly userId: string | undefined

  constructor(code: SignInFailureCode, { userId, ...options }: ErrorOptions & { userId?: string } = {}) {
    super(sentences[code], options)
    this.name = 'SignInFailure'
    this.code = code
    this.userId = userId
  }
}

/**
 * Turns an error into a failure for the browser. An `ApiError` becomes a failure too, for example when the person was
 * removed meanwhile. Other errors, such as those of a database that is unavailable, are thrown again.
 */
export function asSignInFailure(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error
  if (error instanceof AccountDeactivated) return new SignInFailure('account_deactivated', { userId: error.userId })
  if (error instanceof ApiError && error.status < 500) return new SignInFailure('sign_in_failed', { cause: error })
  throw error
}
