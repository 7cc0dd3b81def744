import unhomoglyph from 'unhomoglyph'

/**
 * What a name looks like: two names with the same skeleton are confusable (Unicode Technical Standard 39, section 4). Of its data
 * `unhomoglyph` has the table. A new version of that table needs a migration that computes the column anew.
 */
export const nameSkeleton = (name: string): string => {
  const seen = name.normalize('NFKC').replaceAll(unseen, '')
  return unhomoglyph(seen.replaceAll(foreignLetter, likeLatin).toLowerCase().normalize('NFD')).normalize('NFD')
}

/**
 * A letter of another script that looks like a Latin capital becomes that one: only some capitals look alike as small letters too, and
 * scripts without small letters have letters that look like Latin capitals.
 */
function likeLatin(letter: string): string {
  const shown = unhomoglyph(letter)
  // The table takes I and l for one.
  if (shown === 'l' && /\p{Lu}/u.test(letter)) return 'I'
  return /^[A-Za-z]+$/.test(shown) ? shown : letter
}

const foreignLetter = /[[\p{Lu}\p{Lo}]--\p{Script=Latin}]/gv

/**
 * Whether two names differ only by look-alike letters of another script, such as `admin` with a Cyrillic а. Letters of one script
 * that look alike (`modem` and `modern`, `Ian` and `lan`) are names of different people.
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

/** The script of each letter; what belongs to all scripts, such as digits, is left out. */
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

/** Latin letters of phonetic alphabets: `ɑdmin` is not `admin`, though both are Latin. */
const phonetic = /[\u0250-\u02AF\u1D00-\u1DBF\uA720-\uA7FF\uAB30-\uAB6F]/u

// Those whose letters the table takes for letters of another script.
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
