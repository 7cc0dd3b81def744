import { isUtf8 } from 'node:buffer'
import sax from 'sax'

/** The root of an image comes within this; what is before it are comments and declarations. */
const searchedBytes = 256 * 1024

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
  for (let from = 0; from < text.length && root === undefined; from += 4_096)
    parser.write(text.slice(from, from + 4_096))
  return root === 'svg' || (root?.endsWith(':svg') ?? false)
}
