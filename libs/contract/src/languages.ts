import { type Static, Type } from 'typebox'

/** The languages of the mails, and of the web client. */
export const languages = ['en', 'de', 'ar'] as const

export const Language = Type.Enum(languages)
export type Language = Static<typeof Language>
