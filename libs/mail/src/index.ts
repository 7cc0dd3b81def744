export type { Invitation, LinkTexts, MailTexts } from './en.ts'
export { directionOf, escapeHtml, htmlMail } from './html.ts'
export { mailTexts } from './texts.ts'
