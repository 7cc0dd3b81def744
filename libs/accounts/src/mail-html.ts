/** An HTML document for a mail. `parts` are HTML: every text in them must be escaped. */
export const htmlMail = (parts: readonly string[]): string => `<!doctype html>
<html lang="en">
<body style="font-family: sans-serif; line-height: 1.5">
${parts.join('\n')}
</body>
</html>
`

/** A text or the value of an attribute as HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
