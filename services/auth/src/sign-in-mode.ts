import type { Config } from '@parley/config'
import { notFound } from '@parley/contract'

/** An `onRequest` hook: the routes of a sign-in mode that is not active are described, but do not exist (404). */
export const onlyInMode =
  (mode: Config['auth']['authMode'], { auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== mode) throw notFound('address')
  }
