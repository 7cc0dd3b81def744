import { isUtf8 } from 'node:buffer'
import sax from 'sax'

/** The root of an image comes within this; what is before it are comments and declarations. */
const searchedBytes = 64 * 1024
/** The parser is handed so much at once, and looked after in between. */
const stepCharacters = 1_024
/** What begins with `<!` and is no comment, CDATA or DOCTYPE by then is none of them; the parser would compare all of it at each character. */
const longestKeyword = 16

/** Whether this is XML in UTF-8 with the root element `svg`. Entities in its declarations are not followed. */
export function isSvg(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false
  let root: string | undefined
  // Lenient, because programs of designers declare entities that a strict parser wants to know.
  const parser = sax.parser(false, { lowercase: true })
  parser.onopentag = ({ name }) => {
    root ??= name
  }
  parser.ontext = (text) => {
    if (text.trim() !== '') root ??= ''
  }
  parser.onerror = () => {
    root ??= ''
  }
  const text = bytes.subarray(0, searchedBytes).toString()
  for (let from = 0; from < text.length && root === undefined; from += stepCharacters) {
    parser.write(text.slice(from, from + stepCharacters))
    if (heldOf(parser).sgmlDecl.length > longestKeyword) root ??= ''
  }
  return root === 'svg' || (root?.endsWith(':svg') ?? false)
}

/** What the parser has read of something that began with `<!`: a property that its types do not have. */
const heldOf = (parser: sax.SAXParser) => parser as sax.SAXParser & { sgmlDecl: string }
