/**
 * A web worker that finds the parts of code: keywords, strings and so on. A worker has no document, so the code cannot become anything but
 * text. Its first message says that it is loaded. For an unknown language it returns null.
 */
import highlighter from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import graphql from 'highlight.js/lib/languages/graphql'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import shell from 'highlight.js/lib/languages/shell'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import type { CodeKind, CodePiece, CodeToHighlight } from './highlighter.ts'

const languages = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, graphql, ini, java, javascript, json, kotlin, makefile },
  ...{ markdown, php, python, ruby, rust, shell, sql, swift, typescript, xml, yaml },
}
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language)

const kinds: Record<string, CodeKind> = {
  keyword: 'keyword',
  literal: 'keyword',
  'selector-tag': 'keyword',
  section: 'keyword',
  string: 'string',
  regexp: 'string',
  link: 'string',
  quote: 'comment',
  comment: 'comment',
  doctag: 'comment',
  number: 'number',
  symbol: 'number',
  title: 'name',
  name: 'name',
  attr: 'name',
  attribute: 'name',
  property: 'name',
  'selector-class': 'name',
  'selector-id': 'name',
  variable: 'name',
  'template-variable': 'name',
  type: 'type',
  built_in: 'type',
  meta: 'type',
  addition: 'added',
  deletion: 'removed',
}

addEventListener('message', ({ data: { language, text } }: MessageEvent<CodeToHighlight>) => {
  const isKnown = highlighter.getLanguage(language) !== undefined
  postMessage(isKnown ? piecesOf(highlighter.highlight(text, { language, ignoreIllegals: true }).value) : null)
})

postMessage('loaded')

/** Parses the HTML that the library returns, which has only spans and escaped text. */
function piecesOf(html: string): CodePiece[] {
  const pieces: CodePiece[] = []
  const open: (CodeKind | null)[] = [null]
  for (const part of html.split(/(<span class="[^"]*">|<\/span>)/)) {
    if (part === '</span>') open.pop()
    else if (part.startsWith('<span class="')) open.push(kindOf(part) ?? open.at(-1)!)
    else if (part !== '') pieces.push([open.at(-1)!, unescaped(part)])
  }
  return pieces
}

const kindOf = (span: string) => kinds[/"hljs-([^" ]*)/.exec(span)?.[1] ?? '']

const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#x27': "'", amp: '&' }
const unescaped = (text: string) => text.replace(/&(lt|gt|quot|#x27|amp);/g, (_, name: string) => characters[name]!)
