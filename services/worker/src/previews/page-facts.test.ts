import { describe, expect, test } from 'vitest'
import { decodePage, readPageFacts } from './page-facts.ts'

const nothing = { title: null, description: null, siteName: null, imageUrl: null }

describe('the facts of a page', () => {
  test('are those of Open Graph, before all others', () => {
    const html = `<!doctype html><html><head><title>Old &amp; plain</title>
      <meta name="description" content="plain"><meta name="twitter:title" content="bird">
      <meta property="og:title" content="The &lt;best&gt; title"><meta property="OG:description" content="Two
      lines"><meta property="og:site_name" content="Example"><meta property="og:image" content="/a.png">
      </head><body><title>not this</title></body></html>`
    expect(readPageFacts(html)).toEqual({
      title: 'The <best> title',
      description: 'Two lines',
      siteName: 'Example',
      imageUrl: '/a.png',
    })
  })

  test('are those of HTML where there are no others', () => {
    const html = '<title>Old &amp; plain</title><meta name=description content=plain><svg><title>Icon</title></svg>'
    expect(readPageFacts(html)).toEqual({ ...nothing, title: 'Old & plain', description: 'plain' })
  })

  test.each([
    '',
    'no markup',
    '<title></title>',
    '<title> \u200b\u202e </title>',
    '<',
    '<meta',
    '<meta property="og:title" content="',
  ])('are missing in %j', (html) => {
    expect(readPageFacts(html).title).toBeNull()
  })

  test('have no invisible characters, and are bounded', () => {
    const html = `<title>a\u202eb\u0000c${'d'.repeat(1_000)}</title><meta name="description" content="${'😀'.repeat(1_000)}">`
    const { title, description } = readPageFacts(html)
    expect(title).toBe(`abc${'d'.repeat(197)}`)
    expect([...description!]).toHaveLength(400)
  })

  test('of a megabyte of nested or unfinished markup are read all the same', () => {
    const head = '<title>small</title>'
    for (const rest of [
      '<div>'.repeat(200_000),
      '<a '.repeat(350_000),
      '<!--'.repeat(250_000),
      '&amp'.repeat(250_000),
    ]) {
      expect(readPageFacts(head + rest).title).toBe('small')
    }
    expect(readPageFacts(`<title>${'<b>'.repeat(350_000)}`).title).not.toBeNull()
  })

  // Without the limit, the parser works for seconds on a megabyte of nested elements.
  test('are read only as far as elements are not nested too deeply', () => {
    const meta = '<meta name="description" content="late">'
    const filler = ' '.repeat(20_000)
    expect(readPageFacts(`${'<div>'.repeat(400)}${filler}${meta}`).description).toBe('late')
    expect(readPageFacts(`${'<div><br></div>'.repeat(1_000)}${filler}${meta}`).description).toBe('late')
    expect(readPageFacts(`${'<div>'.repeat(600)}${filler}${meta}`).description).toBeNull()
  })
})

test.each([
  ['caf\xe9', 'text/html; charset=ISO-8859-1', 'latin1', 'café'],
  ['<meta charset="windows-1251">\xef', 'text/html', 'latin1', '<meta charset="windows-1251">п'],
  ['café', 'text/html', 'utf8', 'café'],
  ['café', 'text/html; charset=nonsense', 'utf8', 'café'],
] as const)('a page is decoded with its declared charset: %j, %s', (text, contentType, encoding, decoded) => {
  expect(decodePage(Buffer.from(text, encoding), contentType)).toBe(decoded)
})
