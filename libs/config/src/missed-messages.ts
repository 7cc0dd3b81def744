import type { Config } from './schema.ts'

/** The time after which this server sends mails about missed messages, in seconds; null when it sends none. */
export const missedMessagesAfterSeconds = ({ email }: Pick<Config, 'email'>): number | null =>
  email.host !== undefined && email.missedMessages.afterSeconds > 0 ? email.missedMessages.afterSeconds : null
