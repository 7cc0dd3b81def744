/** Room for the lines that close a block of code and open it again. */
const fenceRoom = 30

/** A block of code that is closed. */
const closedCode = /(?<![^\n])```[\s\S]*?```[^\S\n]*(?![^\n])/g
/** The line that opens a block of code, without what does not fit into the room. */
const openingFence = new RegExp(String.raw`(?<![^\n])\`\`\`[^\n]{0,${fenceRoom - '\n```\n```\n'.length}}`)

/**
 * Splits a text in Parley's markup into parts of at most `longest` characters: between lines where possible, else between words, else between
 * characters. A block of code that continues in the next part is closed, and opened again there.
 */
export function splitMarkup(markup: string, longest: number): string[] {
  if (markup.length <= longest) return markup.trim() === '' ? [] : [markup]
  const pieces = splitText(markup, longest - fenceRoom)
  let opening = ''
  return pieces.map((piece, n) => {
    const text = opening === '' ? piece : `${opening}\n${piece}`
    opening = openingFence.exec(text.replace(closedCode, ''))?.[0] ?? ''
    return opening === '' || n === pieces.length - 1 ? text : `${text}\n\`\`\``
  })
}

function splitText(text: string, longest: number): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > longest) {
    const whole = rest.slice(0, longest).replace(/[\ud800-\udbff]$/, '')
    const end = ['\n', ' '].map((space) => rest.lastIndexOf(space, longest)).find((at) => at > 0) ?? whole.length
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).replace(/^\n/, '')
  }
  return rest.trim() === '' ? parts : [...parts, rest]
}
