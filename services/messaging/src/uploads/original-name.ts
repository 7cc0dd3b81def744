import { firstCharacters, invalid } from '@parley/contract'

/** In characters. */
const longestName = 200

/** `extension` is in lower case, without the dot, and empty when the name has none. */
export interface OriginalName {
  name: string
  extension: string
}

/**
 * Makes a name that can be shown and saved anywhere: without folders, invisible characters, characters that change the
 * direction of text (`annexe\u202Efdp.exe` reads as `annexeexe.pdf`) or that file systems refuse, and with at most 200
 * characters, of which the extension is kept. Letters of any script stay. @throws ApiError 400 when there is no name.
 */
export function readOriginalName(given: string): OriginalName {
  if (given.trim() === '') throw invalid('filename must not be empty')
  const last = given.toWellFormed().normalize('NFC').replace(forbidden, '').split(/[/\\]/).at(-1)!
  const clean = last
    .replace(refusedByFileSystems, '_')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/[. ]+$/, '')
  const [, stem = '', extension = ''] = withExtension.exec(clean) ?? [clean, clean]
  const kept = extension === '' ? '' : `.${extension}`
  const shortened = firstCharacters(stem.replace(/^[. ]+/, ''), longestName - kept.length).trimEnd()
  return { name: `${shortened || 'file'}${kept}`, extension: extension.toLowerCase() }
}

/** The name, and an extension of at most 16 letters and digits. */
const withExtension = /^(.*)\.([A-Za-z0-9]{1,16})$/
/** Control, direction, invisible and special characters. Joiners stay, because some scripts need them within words. */
const forbidden = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff0-\uffff]/gu
const refusedByFileSystems = /[<>:"|?*]/g
