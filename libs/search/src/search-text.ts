/**
 * A text as search compares it: compatibility forms as one (NFKC: full-width letters, ligatures, composed accents), and without
 * regard to case in any script: `ß` equals `SS`, every sigma is the same, the dotless `ı` equals `I`. Accents and kana stay as
 * they are, but for piles of marks.
 */
export function foldText(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  return withoutPiles(text)
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll('ς', 'σ')
    .replaceAll(boundary, '\ufffd')
}

/**
 * A text with at most thirty marks in a row, as many as any language stacks (UAX #15, section 13). More are only there to be
 * looked at: normalization puts them in order, which of a message full of them takes a quarter of a second.
 */
export const withoutPiles = (text: string): string => text.replaceAll(pile, '$1')

/**
 * What `foldText` still changes in a text that is in NFKC and lower-case, as the keys of names are: a text without any of these
 * characters is folded already.
 */
export const foldedFurther = [...'ßıς\u0345ᲀᲁᲂᲃᲄᲅᲆᲇᲈᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾲᾳᾴᾷῂῃῄῇῲῳῴῷ\uffff']

/** Everything of a message that search compares, as it is stored: no search matches across two of its parts. */
export const foldParts = (parts: readonly string[]): string => parts.map(foldText).join(boundary)

/**
 * What an index must contain for a folded text to occur: its runs of three characters, or the whole text when it is shorter.
 * Of a long one only some, spread over it: they are a filter, the text itself decides.
 */
export function searchGrams(folded: string): string[] {
  const characters = [...folded]
  if (characters.length <= 3) return [folded]
  const grams = [...new Set(characters.slice(2).map((_, n) => characters.slice(n, n + 3).join('')))]
  const step = Math.max(1, grams.length / mostGrams)
  return Array.from({ length: Math.min(grams.length, mostGrams) }, (_, n) => grams[Math.floor(n * step)]!)
}

/** Beyond so many, further ones hardly rule anything out. */
const mostGrams = 16
/** No text contains it once folded. */
const boundary = '\uffff'
/** The two that are no marks become marks. */
const pile = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ascii = /^[\x00-\x7f]*$/
