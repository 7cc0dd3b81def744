/** An emoji may be inside a name, or be one. */
const word = String.raw`[\p{L}\p{M}\p{N}\p{ExtPict}\p{EMod}\p{RI}_.-]+`
/** A space, an apostrophe, a plus sign or a joiner, as Persian needs it, may be inside a name. */
const words = String.raw`${word}(?:[ '’+\u200c\u200d]${word})*`

/**
 * The source of a regular expression (with the flag `u`) for the longest text that may be a name after `@` or `#`. Words in parentheses may be
 * inside a name too, as in `Ann (Sales)`.
 */
export const nameForm = String.raw`${words}(?: ?\(${words}\)(?:[ '’+\u200c\u200d]${words})?)*`

/**
 * The places where a name may end in a text of `nameForm`: its end, a character between words, or punctuation before one of these. Use it with
 * `matchAll`.
 */
export const endOfName = /(?<![ '’+(\u200c\u200d])(?=[_.-]*(?:$|[^\p{L}\p{M}\p{N}_.-]))/gu
