/** Elements within each other. A response has about ten. */
const maxDepth = 50
/** A response with a thousand groups has about a thousand. */
const maxElements = 10_000
/** Different names of namespace declarations. A response has about ten. */
const maxPrefixes = 50

/** The next part of a document: an XML declaration, text, a CDATA section, or a tag, without `<` in its attributes. */
const nextPart = /<\?xml\s[^<>]*\?>|[^<]+|<!\[CDATA\[.*?\]\]>|<[^<>"'!?]+(?:"[^<"]*"[^<>"']*|'[^<']*'[^<>"']*)*>/gsy
const declaration = /xmlns[^\s=]*/g

/**
 * Whether the parser reads this XML document in a short time. Its time grows with the square of the depth, and for each
 * element with the number of namespaces, so a deep document, or one with many namespaces, could block the process for
 * seconds. Text that is not a sequence of such parts is not XML. The check itself takes linear time.
 */
export function isWithinBounds(xml: string): boolean {
  const prefixes = new Set<string>()
  let [depth, elements, end] = [0, 0, 0]
  for (const { 0: part, index } of xml.matchAll(nextPart)) {
    end = index + part.length
    if (!isTag(part)) continue
    depth += depthChange(part)
    if (!part.startsWith('</')) elements++
    for (const [name] of part.matchAll(declaration)) prefixes.add(name)
    if (depth < 0 || depth > maxDepth || elements > maxElements || prefixes.size > maxPrefixes) return false
  }
  return end === xml.length
}

const isTag = (part: string) => /^<[^!?]/.test(part)

const depthChange = (tag: string) => (tag.startsWith('</') ? -1 : tag.endsWith('/>') ? 0 : 1)
