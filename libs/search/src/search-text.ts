/**
 * Converts a text to the form in which search compares it. Compatibility forms are equal (NFKC: full-width letters,
 * ligatures, composed accents), and case is ignored in every script: `ß` equals `SS`, all sigmas are equal, the dotless
 * `ı` equals `I`. Accents and the two kinds of kana are different, within `limitMarks`.
 */
export function foldText(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  return limitMarks(text)
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll('ς', 'σ')
    .replaceAll(boundary, '\ufffd')
}

/**
 * Limits a text to thirty combining marks in a row. No language needs more (UAX #15, section 13). Normalization sorts
 * the marks, which takes a quarter of a second for a message full of marks.
 */
export const limitMarks = (text: string): string => text.replaceAll(pile, '$1')

/**
 * The characters that `foldText` changes in a text that already is in NFKC and lower case, such as the key of a name.
 * Without these characters such a text is folded already.
 */
export const foldedFurther = [...'ßıς\u0345ᲀᲁᲂᲃᲄᲅᲆᲇᲈᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾲᾳᾴᾷῂῃῄῇῲῳῴῷ\uffff']

/** The texts of a message as they are stored for search. No search matches across two of them. */
export const foldParts = (parts: readonly string[]): string => parts.map(foldText).join(boundary)

/**
 * The grams of a folded search text: its sequences of three characters, or the whole text when it is shorter. For a
 * long text these are only some of them. Every matching message contains them, but they are only a filter: the caller
 * compares the text itself.
 */
export function searchGrams(folded: string): string[] {
  const characters = [...folded]
  if (characters.length <= 3) return [folded]
  const grams = [...new Set(characters.slice(2).map((_, n) => characters.slice(n, n + 3).join('')))]
  const step = Math.max(1, grams.length / maxGrams)
  return Array.from({ length: Math.min(grams.length, maxGrams) }, (_, n) => grams[Math.floor(n * step)]!)
}

/** More grams would hardly improve the filter. */
const maxGrams = 16
/** The separator of the parts. A folded text never contains it. */
const boundary = '\uffff'
/** NFKC turns U+FF9E and U+FF9F into marks. */
const pile = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ascii = /^[\x00-\x7f]*$/
