import { type HtmlElement, type HtmlNode, readHtml } from './html-tree.ts'
import { type Format, markupOfRuns, type Run } from './markup-of-runs.ts'

/** Longer texts are pasted as plain text. */
const maxLength = 500_000

/** What a text has from the elements around it. */
interface Look extends Format {
  isHidden: boolean
  /** Whether spaces and line breaks are shown as they are. */
  keepsSpaces: boolean
  /** Whether it may be the text of a code editor, which has colours but no structure. */
  isSource: boolean
}

/** What was found in the whole text. */
interface Findings {
  /** Whether there is a format that the markup has. */
  format: boolean
  /** Whether there is text that does not come from a code editor. */
  text: boolean
}

const bold = new Set(['b', 'strong', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'])
const italic = new Set(['i', 'em'])
const strike = new Set(['s', 'strike', 'del'])
const code = new Set(['code', 'kbd', 'samp', 'tt'])
const hidden = new Set('head iframe math noscript object script select style svg template textarea title'.split(' '))
/** They begin a line. A blank line is before and after a paragraph too. */
const blocks = new Set(
  'address article aside dd details div dl dt figcaption figure footer form header li main nav section tr'.split(' '),
)
const paragraphs = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'hr'])
const spreadsheet = /urn:schemas-microsoft-com:office:excel|<google-sheets-html-origin/i
const fence = '```'

/**
 * Formatted text of the clipboard in the markup of messages (docs/markup.md). Undefined when it has no format that the markup has, and
 * for the text of a code editor or of a spreadsheet. Their plain text is the better form.
 */
export function markupOfHtml(html: string): string | undefined {
  if (html.length > maxLength || spreadsheet.test(html)) return undefined
  const nodes = readHtml(html)
  if (!nodes) return undefined
  const findings = { format: false, text: false }
  const look = { isHidden: false, keepsSpaces: false, isSource: false }
  const lines = linesOf(nodes, look, findings)
  return findings.format && findings.text ? lines.join('\n') : undefined
}

/** The lines of a text, of a quotation or of an item. */
function linesOf(nodes: readonly HtmlNode[], outer: Look, findings: Findings): string[] {
  const lines: string[] = []
  let runs: Run[] = []
  let hasGap = false

  const addLines = (added: readonly string[]) => {
    if (added.length === 0) return
    if (hasGap && lines.length > 0) lines.push('')
    hasGap = false
    for (const line of added) lines.push(line)
  }
  const endLine = () => {
    const line = markupOfRuns(runs)
    if (line.hasFormat) findings.format = true
    runs = []
    if (line.text !== '') addLines([line.text])
  }
  const breakLine = () => {
    if (runs.length > 0) endLine()
    else hasGap = true
  }
  const addText = (text: string, look: Look) => {
    const isBlank = text.trim() === ''
    if (text === '' || (isBlank && runs.length === 0)) return
    if (!isBlank && !look.isSource) findings.text = true
    const follows = runs.length > 0 && !runs.at(-1)!.text.endsWith(' ')
    const shown = follows || look.keepsSpaces ? text : text.trimStart()
    if (shown !== '') runs.push({ ...look, text: shown })
  }
  const visitText = (text: string, look: Look) => {
    if (look.isHidden) return
    const shown = text.replaceAll('\u00a0', ' ')
    if (!look.keepsSpaces) return addText(shown.replace(/\s+/g, ' '), look)
    shown.split(/\r\n?|\n/).forEach((line, index) => {
      if (index > 0) breakLine()
      addText(line, look)
    })
  }
  /** Adds a block that has lines of its own. */
  const addBlock = (added: readonly string[]) => {
    endLine()
    if (added.length > 0) findings.format = true
    addLines(added)
  }

  const visit = (node: HtmlNode, around: Look) => {
    if (typeof node === 'string') return visitText(node, around)
    const { name, children } = node
    const look = lookOf(node, around)
    if (look.isHidden) return
    const level = levelOfItem(node)
    const isParagraph = paragraphs.has(name) && level === undefined && !hasNoMargin(node)
    if (name === 'br') return breakLine()
    if (name === 'img') return addText(emojiOf(node), look)
    if (level !== undefined) return addBlock(itemOf(linesOf(children, look, findings), signOf(node), level))
    if (name === 'ul' || name === 'ol') return addBlock(listOf(node, look, findings))
    if (name === 'blockquote' || name === 'pre') {
      endLine()
      hasGap = true
      addBlock(name === 'pre' ? codeOf(node, findings) : linesOf(children, look, findings).map(quoted))
      hasGap = true
      return
    }
    if (blocks.has(name) || paragraphs.has(name)) endLine()
    if (isParagraph) hasGap = true
    if ((name === 'td' || name === 'th') && runs.length > 0) addText('\t', { ...look, keepsSpaces: true })
    for (const child of children) visit(child, look)
    if (blocks.has(name) || paragraphs.has(name)) endLine()
    if (isParagraph) hasGap = true
  }
  for (const node of nodes) visit(node, outer)
  endLine()
  return lines
}

const quoted = (line: string) => (line === '' ? '>' : `> ${line}`)

/** The lines of an item. A blank line would end it. */
function itemOf(lines: readonly string[], sign: string, level = 1): string[] {
  const indent = '  '.repeat(level - 1)
  return lines.filter((line) => line !== '').map((line, index) => indent + (index === 0 ? `${sign} ` : '  ') + line)
}

/** Google Docs puts a list into a list, beside the items. */
function listOf({ name, attributes, children }: HtmlElement, look: Look, findings: Findings): string[] {
  let number = Number.parseInt(attributes.start ?? '1', 10) || 1
  return children.flatMap((child) => {
    if (typeof child === 'string') return []
    const lines = linesOf(child.name === 'li' ? child.children : [child], lookOf(child, look), findings)
    if (child.name === 'ul' || child.name === 'ol') return lines.map((line) => `  ${line}`)
    return itemOf(lines, name === 'ol' ? `${number++}.` : '-')
  })
}

/** Word writes an item as a paragraph with its level, and its sign as text. */
function levelOfItem(element: HtmlElement): number | undefined {
  const level = element.name === 'p' && /mso-list:\s*l\d+ level(\d)/.exec(styleOf(element))?.[1]
  return level ? Number(level) : undefined
}

function signOf(item: HtmlElement): string {
  const sign = item.children.map(signText).join('')
  return /^\s*(\d{1,9})[.)]/.test(sign) ? `${Number.parseInt(sign, 10)}.` : '-'
}

const isSign = (element: HtmlElement) => /mso-list:\s*ignore/i.test(styleOf(element))
const signText = (node: HtmlNode): string =>
  typeof node === 'string' ? '' : isSign(node) ? textOf(node) : node.children.map(signText).join('')

/** The text of an element with its line breaks. */
const textOf = (node: HtmlNode): string =>
  typeof node === 'string' ? node : node.name === 'br' ? '\n' : node.children.map(textOf).join('')

/** A block of code. Code editors write `pre` without `code`. */
function codeOf(pre: HtmlElement, findings: Findings): string[] {
  const inner = pre.children.find((child) => typeof child !== 'string' && child.name === 'code') as
    | HtmlElement
    | undefined
  if (inner) findings.text = true
  const text = textOf(pre).replace(/\r\n?/g, '\n').replace(/^\n/, '').trimEnd()
  const lines = text.split('\n')
  if (text === '' || text.includes(fence)) return text === '' ? [] : lines
  const language = /(?:^|\s)language-([\w+#.-]+)/.exec(`${pre.attributes.class} ${inner?.attributes.class}`)?.[1] ?? ''
  return [fence + language, ...lines, fence]
}

/** Google Docs writes every line as a paragraph. */
const hasNoMargin = (element: HtmlElement) =>
  /margin(?:-bottom)?:\s*(?:0[a-z]*|\.0001pt)\s*(?:;|$)/.test(styleOf(element))

/** The searches in a style would take long in a very long one. */
const styleOf = ({ attributes }: HtmlElement) => attributes.style?.slice(0, 2_000) ?? ''

function lookOf(element: HtmlElement, around: Look): Look {
  const { name, attributes } = element
  const style = styleOf(element)
  const weight = /font-weight:\s*(\w+)/.exec(style)?.[1]
  const slant = /font-style:\s*(\w+)/.exec(style)?.[1]
  const spaces = /white-space(?:-collapse)?:\s*([\w-]+)/.exec(style)?.[1]
  const isHeading = /^h[1-6]$/.test(name)
  return {
    bold: isHeading || (weight ? /^(?:bold|bolder|[6-9]\d\d)$/.test(weight) : bold.has(name) || around.bold),
    italic: slant ? slant !== 'normal' : italic.has(name) || around.italic,
    strike: /text-decoration[^;]*line-through/.test(style) || strike.has(name) || around.strike,
    code: code.has(name) || around.code,
    // The time of a message, which leads to the message, is not a link of its text.
    url: name === 'a' ? urlOf(attributes.href ?? '') : name === 'time' ? undefined : around.url,
    isHidden: around.isHidden || hidden.has(name) || isSign(element) || /display:\s*none/.test(style),
    keepsSpaces: spaces ? /pre|break-spaces/.test(spaces) : around.keepsSpaces,
    isSource: spaces ? spaces === 'pre' : around.isSource,
  }
}

/** A picture of an emoji, as Slack and others have it, is its short name or its character. Other pictures are no text. */
function emojiOf({ attributes: { alt = '' } }: HtmlElement): string {
  return /^:[\w+\-]+:$|^\p{RGI_Emoji}$/v.test(alt) ? alt : ''
}

/** The address in the form that the markup has, if a message can have a link to it. */
function urlOf(href: string): string | undefined {
  const url = href.trim().replaceAll('(', '%28').replaceAll(')', '%29')
  return /^(?:https?:\/\/|mailto:)[^\s<>"[\]]+$/i.test(url) ? url : undefined
}
