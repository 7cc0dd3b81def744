import { t } from '../texts/texts.ts'

export interface HintedPerson {
  email: string
  displayName: string | null
  isBot?: boolean
}

/** What is shown beside the name of a person in a list: the mail address. A bot has none that means anything. */
export const hintOf = ({ email, displayName, isBot }: HintedPerson) => (isBot ? (displayName ?? t('BOT')) : email)
