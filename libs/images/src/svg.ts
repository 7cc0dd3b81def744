import { isUtf8 } from 'node:buffer'
import sax from 'sax'

/** The root element comes within this, behind comments and declarations. */
const searchedBytes = 64 * 1024
/** The parser gets so much at once, and is checked in between. */
const stepCharacters = 1_024
/**
 * Something that begins with `<!` and is no comment, CDATA or DOCTYPE after so many characters is none of them. The parser would
 * compare all of it at each further character.
 */
const longestKeyword = 16

/** Whether this is XML in UTF-8 with the root element `svg`. Entities in its declarations are not resolved. */
export const isSvg = (bytes: Buffer): boolean => readSvgAttributes(bytes) !== undefined

/** The attributes of the root element, with names in lower case. Undefined unless this is an SVG. */
export function readSvgAttributes(bytes: Buffer): Record<string, string> | undefined {
  if (!isUtf8(bytes)) return undefined
  let root: { name: string; attributes: Record<string, string> } | undefined
  const refuse = () => {
    root ??= { name: '', attributes: {} }
  }
  // Lenient: a strict parser refuses the entities that drawing programs declare.
  const parser = sax.parser(false, { lowercase: true })
  parser.onopentag = ({ name, attributes }) => {
    root ??= { name, attributes: attributes as Record<string, string> }
  }
  parser.ontext = (text) => {
    if (text.trim() !== '') refuse()
  }
  parser.onerror = refuse
  const text = bytes.subarray(0, searchedBytes).toString()
  for (let from = 0; from < text.length && root === undefined; from += stepCharacters) {
    parser.write(text.slice(from, from + stepCharacters))
    if (declarationOf(parser).length > longestKeyword) refuse()
  }
  return root?.name === 'svg' || root?.name.endsWith(':svg') ? root.attributes : undefined
}

/** The text behind a `<!` that the parser has read so far. Its types lack this property. */
const declarationOf = (parser: sax.SAXParser) => (parser as sax.SAXParser & { sgmlDecl: string }).sgmlDecl
