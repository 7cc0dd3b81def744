import unhomoglyph from 'unhomoglyph'

/**
 * The skeleton of a name (Unicode Technical Standard 39, section 4): two names with the same skeleton look alike. `unhomoglyph` has the
 * table of look-alike characters. A new version of the table needs a migration that recomputes the column `user_name_skeleton`.
 */
export const nameSkeleton = (name: string): string => {
  const seen = name.normalize('NFKC').replaceAll(unseen, '')
  return unhomoglyph(seen.replaceAll(foreignLetter, likeLatin).toLowerCase().normalize('NFD')).normalize('NFD')
}

/**
 * The Latin capital that looks like a letter of another script; the letter itself without one. Many capitals look alike
 * while their lower-case letters do not, and scripts without lower case have letters that look like Latin capitals.
 */
function likeLatin(letter: string): string {
  const shown = unhomoglyph(letter)
  // The table maps I to l.
  if (shown === 'l' && /\p{Lu}/u.test(letter)) return 'I'
  return /^[A-Za-z]+$/.test(shown) ? shown : letter
}

const foreignLetter = /[[\p{Lu}\p{Lo}]--\p{Script=Latin}]/gv

/**
 * Whether two names differ only by look-alike letters of another script, such as `admin` with a Cyrillic а. Names with
 * look-alike letters of the same script (`modem` and `modern`, `Ian` and `lan`) belong to different people.
 */
export function looksLike(one: string, other: string): boolean {
  if (nameSkeleton(one) !== nameSkeleton(other)) return false
  const [ofOne, ofOther] = [scriptsOf(one), scriptsOf(other)]
  const isSame =
    ofOne.length === ofOther.length
      ? ofOne.every((script, index) => script === ofOther[index])
      : ofOne.every((script) => ofOther.includes(script)) && ofOther.every((script) => ofOne.includes(script))
  return !isSame
}

/** The script of each letter. Characters of all scripts, such as digits, are left out. */
function scriptsOf(name: string): string[] {
  const scripts: string[] = []
  for (const character of name.normalize('NFKC')) {
    if (!/\p{L}/u.test(character)) continue
    if (phonetic.test(character)) scripts.push('phonetic')
    else scripts.push(confusableScripts.find(([, pattern]) => pattern.test(character))?.[0] ?? 'another')
  }
  return scripts
}

const unseen = /\p{DI}/gu

/** Latin letters of phonetic alphabets. They count as another script, because `ɑdmin` looks like `admin` and both are Latin. */
const phonetic = /[\u0250-\u02AF\u1D00-\u1DBF\uA720-\uA7FF\uAB30-\uAB6F]/u

// Scripts with letters that the table of look-alike characters maps to letters of another script.
const confusableScripts = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Armenian',
  'Hebrew',
  'Arabic',
  'Cherokee',
  'Coptic',
  'Georgian',
  'Lisu',
  'Canadian_Aboriginal',
  'Devanagari',
  'Thai',
  'Hangul',
  'Han',
  'Hiragana',
  'Katakana',
].map((script) => [script, new RegExp(`\\p{Script=${script}}`, 'u')] as const)
