import { firstCharacters, invalid } from '@parley/contract'

const maxLength = 200
const extensionLength = 16

/** What a file is called, and what kind of file its name says it is: lower-case, without the dot, empty for none. */
export interface OriginalName {
  name: string
  extension: string
}

/**
 * The name that an uploader gave, as it may be shown and saved anywhere: without folders, without what is invisible or
 * turns the direction of text (`annexe\u202Efdp.exe` reads as `annexeexe.pdf`), without what file systems refuse, at most
 * 200 characters with its extension kept. Letters of any script stay. @throws ApiError 400 when there is no name.
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
  const shortened = firstCharacters(stem.replace(/^[. ]+/, ''), maxLength - kept.length).trimEnd()
  return { name: `${shortened || 'file'}${kept}`, extension: extension.toLowerCase() }
}

const withExtension = new RegExp(`^(.*)\\.([A-Za-z0-9]{1,${extensionLength}})$`)
/** Control, direction, invisible and private characters; a joiner within a word is part of some scripts, and stays. */
const forbidden = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff0-\uffff]/gu
const refusedByFileSystems = /[<>:"|?*]/g
