import { firstCharacters } from '@parley/contract'
import { Parser } from 'htmlparser2'

/** The facts about a page from its own head. */
interface PageFacts {
  title: string | null
  description: string | null
  siteName: string | null
  /** As it is written in the page. It may be relative to the page. */
  imageUrl: string | null
}

const longest = { title: 200, description: 400, siteName: 80 }

/**
 * Reads title, description, name of the site and image from the head of an HTML page: Open Graph first, then Twitter's names, then
 * HTML's own. Reading stops where elements are nested more deeply than in any head. Without this limit, the parser takes time that grows
 * with the square of the depth. The texts are one line each, without invisible characters, and bounded.
 */
export function readPageFacts(html: string): PageFacts {
  const metas = new Map<string, string>()
  let title = ''
  let isInTitle = false
  let isOver = false
  let depth = 0
  const parser = new Parser({
    onopentag(name, { property, name: named, content }) {
      if (name === 'title') isInTitle = title === ''
      // Some pages close their head early and have further metas in the body, but not in articles.
      if (name === 'article' || name === 'main' || ++depth > maxDepth) isOver = true
      const key = (property ?? named)?.toLowerCase()
      if (name === 'meta' && key !== undefined && content && !metas.has(key)) metas.set(key, content)
    },
    ontext(text) {
      if (isInTitle && title.length < maxTitleText) title += text
    },
    onclosetag(name) {
      if (name === 'title') isInTitle = false
      depth--
    },
  })
  for (let at = 0; at < html.length && !isOver; at += stepLength) parser.write(html.slice(at, at + stepLength))

  const first = (...keys: string[]) => keys.map((key) => metas.get(key)?.trim()).find(Boolean) ?? null
  return {
    title: lineOf(first('og:title', 'twitter:title') ?? title, longest.title),
    description: lineOf(first('og:description', 'twitter:description', 'description'), longest.description),
    siteName: lineOf(first('og:site_name', 'application-name'), longest.siteName),
    imageUrl: first('og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src'),
  }
}

const maxTitleText = 10_000
const maxDepth = 500
const stepLength = 16_384

/** The text on one line; null when nothing is left. */
export function lineOf(text: string | null, most: number): string | null {
  const line = firstCharacters((text ?? '').toWellFormed(), 10 * most)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(invisible, '')
    .trim()
  return line === '' ? null : firstCharacters(line, most).trimEnd()
}

/** Control characters, characters that change the direction of text, and invisible ones. A joiner within a word stays. */
const invisible = /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff0-\uffff]/gu

/** The text of a page: in the encoding that the header or the page itself names, else UTF-8. */
export function decodePage(body: Buffer, contentType: string): string {
  const named = /charset=["']?([\w-]+)/i
  const label = named.exec(contentType)?.[1] ?? named.exec(body.toString('latin1', 0, 1_024))?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(body)
  } catch {
    // There is no such encoding.
    return new TextDecoder().decode(body)
  }
}
