import type { Language } from '@parley/contract'
import { arabic } from './ar.ts'
import { german } from './de.ts'
import { english, type MailTexts } from './en.ts'

const texts: Record<Language, MailTexts> = { en: english, de: german, ar: arabic }

/** The texts of the mails in a language. */
export const mailTexts = (language: Language): MailTexts => texts[language]
