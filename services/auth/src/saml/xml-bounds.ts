/** Elements within each other. A response has about ten. */
const maxDepth = 50
/** A response has at most a few hundred. With a thousand groups, each in an attribute of its own, it has about two thousand. */
const maxElements = 3_000
/** Elements, texts and CDATA sections directly in one element. A thousand groups with line breaks between them are two thousand. */
const maxChildren = 3_000
/** Different names of namespace declarations. A response has about ten. */
const maxPrefixes = 50

/** The next part of a document: an XML declaration, text, a CDATA section, or a tag, without `<` in its attributes. */
const nextPart = /<\?xml\s[^<>]*\?>|[^<]+|<!\[CDATA\[.*?\]\]>|<[^<>"'!?]+(?:"[^<"]*"[^<>"']*|'[^<']*'[^<>"']*)*>/gsy
const declaration = /xmlns[^\s=]*/g

/**
 * Whether this XML document can be parsed and searched in a short time. The time of the parser grows with the square of
 * the depth, and for each element with the number of namespaces. The library for XPath sorts elements, and it compares
 * two of them by counting through the children of their parent. So its time grows with the number of elements times the
 * number of children. A large document could block the process for seconds. Text that is not a sequence of such parts
 * is not XML. The check itself takes linear time.
 */
export function isWithinBounds(xml: string): boolean {
  const prefixes = new Set<string>()
  /** The number of children so far, for the document and for each open element. */
  const children = [0]
  let [elements, end] = [0, 0]
  for (const { 0: part, index } of xml.matchAll(nextPart)) {
    end = index + part.length
    if (part.startsWith('</')) {
      children.pop()
      if (children.length === 0) return false
      continue
    }
    if (++children[children.length - 1]! > maxChildren) return false
    if (!isTag(part)) continue
    elements++
    if (!part.endsWith('/>')) children.push(0)
    for (const [name] of part.matchAll(declaration)) prefixes.add(name)
    if (children.length > maxDepth + 1 || elements > maxElements || prefixes.size > maxPrefixes) return false
  }
  return end === xml.length
}

const isTag = (part: string) => /^<[^!?]/.test(part)
