import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, type Inline, type MarkupOptions, parseMarkup } from './index.ts'
import { toPlainText } from './plain-text.testing.ts'

/** A short notation for the parsed markup: `b(…)` bold, `i(…)` italic, `s(…)` strike, `c(…)` code, `a(…)` link. */
const understood = (content: string, options?: MarkupOptions): string =>
  parseMarkup(content, options).map(showBlock).join(' | ')

function showBlock(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return block.children.map(showPart).join('')
    case 'quote':
      return `quote(${block.children.map(showBlock).join(' | ')})`
    case 'list':
      return `list${block.start ?? ''}(${block.items.map((item) => item.map(showBlock).join(' | ')).join('; ')})`
    case 'code-block':
      return `code-block${block.language === null ? '' : `:${block.language}`}(${block.text})`
  }
}

function showPart(part: Inline): string {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'break':
      return '/'
    case 'code':
      return `c(${part.text})`
    case 'link':
      return `a(${part.children.map(showPart).join('')} -> ${part.url})`
    case 'mention':
    case 'channel':
    case 'emoji':
      return `${part.kind}(${part.name})`
    default:
      return `${part.kind[0]}(${part.children.map(showPart).join('')})`
  }
}

describe('emphasis and code', () => {
  test.each([
    ['*bold* and **bold**', 'b(bold) and b(bold)'],
    ['_italic_ ~strike~ ~~strike~~', 'i(italic) s(strike) s(strike)'],
    ['~~*both*~~ ~a ~~b~~ c~', 's(b(both)) s(a s(b) c)'],
    ['*bold _and italic_ ~too~*', 'b(bold i(and italic) s(too))'],
    ['***all***', 'b(all)'],
    ['"*quoted*", (_bracketed_).', '"b(quoted)", (i(bracketed)).'],
    ['太*字*です', '太b(字)です'],
    ['*first\nsecond*', 'b(first/second)'],
    ['`code *not bold*`', 'c(code *not bold*)'],
    ['``a ` b``', 'c(a ` b)'],
    ['*a _b *c* d_', '*a i(b b(c) d)'],
  ])('%j', (content, expected) => expect(understood(content)).toBe(expected))
})

describe('text that looks like emphasis', () => {
  test.each([
    'snake_case_name and 2*3*4',
    '* not bold *',
    'a * b * c',
    '__init__',
    '****',
    '*open',
    'closed*',
    '_a ~b',
    'so ¯\\_(ツ)_/¯',
    '`open',
    '``a`',
    '~~~three~~~',
    '~~~~',
    '~~a~',
    '~ ~a~~b',
    'a~~b~~c',
    '~~ a ~~',
    '*',
    '',
  ])('%j', (content) => expect(understood(content)).toBe(content))

  test('pairs do not cross: the outer markers of a crossing stay text', () => {
    expect(understood('*a _b* c_')).toBe('b(a _b) c_')
  })
})

describe('links', () => {
  test.each([
    ['[text](https://example.org/a)', 'a(text -> https://example.org/a)'],
    ['[*bold* text](http://example.org)', 'a(b(bold) text -> http://example.org)'],
    ['[wiki](https://example.org/a_(b))', 'a(wiki -> https://example.org/a_(b))'],
    ['see https://example.org/a_b_c.', 'see a(https://example.org/a_b_c -> https://example.org/a_b_c).'],
    ['(https://example.org/a_(b))', '(a(https://example.org/a_(b) -> https://example.org/a_(b)))'],
    ['*https://example.org*', 'b(a(https://example.org -> https://example.org))'],
    ['mailto:ann@example.org', 'a(mailto:ann@example.org -> mailto:ann@example.org)'],
    ['[@ann](https://example.org)', 'a(@ann -> https://example.org)'],
    ['[[FIRING:1] disk [db-1]](https://example.org)', 'a([FIRING:1] disk [db-1] -> https://example.org)'],
    ['[1] [[2] [text](https://example.org)', '[1] [[2] a(text -> https://example.org)'],
    [
      '[[a](https://a.example)](https://b.example)',
      '[a(a -> https://a.example)](a(https://b.example -> https://b.example))',
    ],
  ])('%j', (content, expected) => expect(understood(content)).toBe(expected))

  test.each([
    '[text](javascript:alert(1))',
    '[text](data:text/html,x)',
    '[text](/relative)',
    '[text](https://)',
    '[text](ftp://example.org/x)',
    'xhttps://example.org',
    'https://',
    'javascript:alert(1)',
  ])('%j stays text', (content) => expect(understood(content)).toBe(content))

  test('a link without a text is a bare address', () => {
    expect(understood('[ ](https://example.org)')).toBe('[ ](a(https://example.org -> https://example.org))')
  })

  test('an address never holds a formatting character, which could show another address', () => {
    expect(understood('[a](https://example.org\u202e/x)')).toBe(
      '[a](a(https://example.org -> https://example.org)\u202e/x)',
    )
    expect(understood('https://example.org\u202e/x')).toBe('a(https://example.org -> https://example.org)\u202e/x')
  })
})

describe('names', () => {
  test.each([
    ["@ann's", "mention(ann)'s"],
    ['hello @ann.', 'hello mention(ann).'],
    ['(@ann) @a.b-c_', '(mention(ann)) mention(a.b-c)_'],
    ['#general, #a-b', 'channel(general), channel(a-b)'],
    ['ann@example.org', 'ann@example.org'],
    ['*@ann*', 'b(@ann)'],
    [':smile::+1: 10:30:20', 'emoji(smile)emoji(+1) 10:30:20'],
    [':wave::skin-tone-3::wave:', 'emoji(wave::skin-tone-3)emoji(wave)'],
    [':handshake::skin-tone-2-6: :wave::skin-tone-:', 'emoji(handshake::skin-tone-2-6) emoji(wave)emoji(skin-tone-)'],
    ['`@ann`', 'c(@ann)'],
    ['@ann (soon) @bob🎉 (@cat (HR))', 'mention(ann) (soon) mention(bob)🎉 (mention(cat) (HR))'],
  ])('%j', (content, expected) => expect(understood(content)).toBe(expected))

  test('the caller decides which text is a name, and sees the longest candidate first', () => {
    const seen: string[][] = []
    const chooseMention = (candidates: string[]) => {
      seen.push(candidates)
      return candidates.find((name) => name === 'Ann Lee') ?? null
    }
    expect(understood('@Ann Lee. @bob', { chooseMention })).toBe('mention(Ann Lee). @bob')
    expect(seen).toEqual([['Ann Lee.', 'Ann Lee', 'Ann'], ['bob']])
  })

  test.each([
    "O'Neil",
    'd’Ann',
    'ann+dev',
    'Ann-Lee',
    "Siobhan O'Neil-Lee",
    'علی\u200cرضا',
    'Ann (Sales)',
    'Ann (Sales Berlin)',
    'Ann(HR) Lee',
    'Bob 🎉',
    '🎉Bob👩🏽‍💻',
    '❤️ Cleo 🇩🇪',
  ])('%s may be a name', (name) => {
    const chooseMention = (candidates: string[]) => candidates.find((candidate) => candidate === name) ?? null
    expect(understood(`(@${name}'s)`, { chooseMention })).toBe(`(mention(${name})'s)`)
  })
})

describe('blocks', () => {
  test.each([
    ['one\ntwo\n\nthree', 'one/two | three'],
    ['> quoted\n>more\nnot', 'quote(quoted/more) | not'],
    ['> > twice', 'quote(quote(twice))'],
    ['- a\n- b', 'list(a; b)'],
    ['3. c\n4. d', 'list3(c; d)'],
    ['- a\n  more\n- b', 'list(a/more; b)'],
    ['- a\n  - b\n    - c\n- d', 'list(a | list(b | list(c)); d)'],
    ['- a\n    - b\n    - c\n\t- d', 'list(a | list(b; c; d))'],
    ['  - a\n  - b', 'list(a; b)'],
    ['- a\n1. b', 'list(a) | list1(b)'],
    ['```ts\nconst a = 1\n\n*b*\n```\nafter', 'code-block:ts(const a = 1\n\n*b*) | after'],
    ['```one line```', 'code-block(one line)'],
    ['```first\nlast```', 'code-block:first(last)'],
    ['```\nopen', 'code-block(open)'],
    ['> ```\n> quoted code\n> ```', 'quote(code-block(quoted code))'],
    ['a\r\nb', 'a/b'],
    ['-not a list\n1.5 is a number', '-not a list/1.5 is a number'],
  ])('%j', (content, expected) => expect(understood(content)).toBe(expected))
})

describe('any text', () => {
  const pieces = [
    '*',
    '**',
    '_',
    '~',
    '~~',
    '`',
    '```',
    '[',
    ']',
    '](',
    ')',
    '(',
    '> ',
    '- ',
    '1. ',
    '  ',
    '\n',
    ' ',
    '@',
    '#',
  ]
  const words = [':', 'a', 'B9', 'https://a.b', 'mailto:', 'http://%', '\u202e', '😀', 'é', '[a](https://b.c)', '\r']
  const hostile = fc
    .array(fc.oneof(fc.constantFrom(...pieces, ...words), fc.string({ unit: 'grapheme', maxLength: 5 })), {
      maxLength: 400,
    })
    .map((parts) => parts.join(''))

  const depthOf = (parts: (Block | Inline)[]): number =>
    Math.max(
      0,
      ...parts.map((part) => {
        if (part.kind === 'paragraph') return depthOf(part.children)
        if ('children' in part) return 1 + depthOf(part.children)
        return part.kind === 'list' ? 1 + Math.max(...part.items.map(depthOf)) : 0
      }),
    )

  test('nests at most eight levels', () => {
    fc.assert(
      fc.property(hostile, (content) => depthOf(parseMarkup(content)) <= 8),
      { numRuns: 500 },
    )
    expect(depthOf(parseMarkup('> '.repeat(20)))).toBe(8)
    expect(depthOf(parseMarkup(`${'*_~~'.repeat(20)}x${'~~_*'.repeat(20)}`))).toBeLessThanOrEqual(8)
    expect(depthOf(parseMarkup(`${'> '.repeat(7)}*a _b [c](https://d.e)_*`))).toBe(8)
  })

  test('keeps every letter and digit, in order', () => {
    const letters = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()
    // The plain text does not have the language of a code block, which the parser converts to lower case.
    const textOf = (blocks: Block[]): string =>
      blocks
        .map((block) => {
          if (block.kind === 'code-block') return `${block.language ?? ''} ${block.text}`
          if (block.kind === 'quote') return textOf(block.children)
          return block.kind === 'list' ? block.items.map(textOf).join(' ') : toPlainText([block])
        })
        .join(' ')
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces, 'a', 'B', 'c9', ' d'), { maxLength: 200 }), (parts) => {
        // An ordered list shows its own numbers, so the digit of its marker is the only one that may disappear.
        const content = parts.filter((part) => part !== '1. ').join('')
        expect(letters(textOf(parseMarkup(content, { chooseMention: () => null })))).toBe(letters(content))
      }),
      { numRuns: 300 },
    )
  })

  test('accepts no similar letter in an address', () => {
    // A long s. Unicode's rules for ignoring case make it an s.
    expect(toPlainText(parseMarkup('http\u017f://a.b'))).toBe('http\u017f://a.b')
  })

  test('makes links of http, https and mailto only', () => {
    const urls = (parts: (Block | Inline)[]): string[] =>
      parts.flatMap((part) => {
        const below = 'children' in part ? part.children : part.kind === 'list' ? part.items.flat() : []
        return [...(part.kind === 'link' ? [part.url] : []), ...urls(below)]
      })
    fc.assert(
      fc.property(hostile, (content) =>
        urls(parseMarkup(content)).every((url) => /^(?:https?:\/\/|mailto:)\S+$/i.test(url)),
      ),
      { numRuns: 500 },
    )
  })
})

/** Each would take minutes if the time grew with the square of the length. The time limit of a test ends it then. */
test.each(['[', '[a]', '[[a]', '[a[b]', '[a](', '[[a]](', '[[a]](http://x'])(
  '%j many times takes linear time',
  (part) => {
    const text = part.repeat(500_000 / part.length)
    expect(parseMarkup(`[${text}`)).toHaveLength(1)
  },
)
