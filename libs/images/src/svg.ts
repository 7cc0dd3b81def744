import { isUtf8 } from 'node:buffer'
import sax from 'sax'

/** The root element must begin within these bytes, after comments and declarations. */
const searchedBytes = 64 * 1024
/** The parser gets this number of characters at once, and is checked in between. */
const stepCharacters = 1_024
/**
 * A text that begins with `<!` and is not recognised as comment, CDATA or DOCTYPE after this number of characters is
 * refused. The parser would otherwise compare all of it again at each further character.
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
  // The parser is lenient, because a strict one refuses the entities that drawing programs declare.
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

/** The text after a `<!` that the parser has read so far. The property is missing in its types. */
const declarationOf = (parser: sax.SAXParser) => (parser as sax.SAXParser & { sgmlDecl: string }).sgmlDecl
