/** Letters without a decomposition in Unicode, and a second form of a small letter. `fold_accents` of the database has the same. */
const plainLetters: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ı: 'i', ς: 'σ' }
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ascii = /^[\x00-\x7f]*$/

/** A name as it is compared in searches: without case and accents, so that "muller" finds "Müller". */
export function foldName(name: string): string {
  const lower = name.toLowerCase()
  if (ascii.test(lower)) return lower
  const letters = lower.normalize('NFKD').replace(/[\u0300-\u036f]/g, '')
  return letters.replace(/[ßæœøłđıς]/g, (letter) => plainLetters[letter]!).normalize('NFC')
}

/** The first one with this name. When no name is the same, the only one that differs by case and accents alone. */
export function findNamed<T>(all: readonly T[], name: string, nameOf: (one: T) => string): T | undefined {
  const [exact, wanted] = [name.toLowerCase(), foldName(name)]
  const similar = all.filter((one) => foldName(nameOf(one)) === wanted)
  return similar.find((one) => nameOf(one).toLowerCase() === exact) ?? (similar.length === 1 ? similar[0] : undefined)
}
