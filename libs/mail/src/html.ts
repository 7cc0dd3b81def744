import type { Language } from '@parley/contract'

/** An HTML document for a mail. `parts` are HTML: every text in them must be escaped. */
export const htmlMail = (language: Language, parts: readonly string[]): string => `<!doctype html>
<html lang="${language}" dir="${directionOf(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
</head>
<body dir="${directionOf(language)}" style="font-family: sans-serif; line-height: 1.5; word-break: break-word; overflow-wrap: anywhere">
${parts.join('\n')}
</body>
</html>
`

export const directionOf = (language: Language) => (language === 'ar' ? 'rtl' : 'ltr')

/** A text or the value of an attribute as HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
