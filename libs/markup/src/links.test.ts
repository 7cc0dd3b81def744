import { expect, test } from 'vitest'
import { parseLinks } from './index.ts'

const text = (text: string) => ({ kind: 'text', text })
const link = (url: string) => ({ kind: 'link', url, children: [text(url)] })

test.each([
  ['', []],
  ['no address', [text('no address')]],
  [
    'Rota: https://wiki.example/rota?w=1, then (HTTP://example.com/tides_(sea)).',
    [
      text('Rota: '),
      link('https://wiki.example/rota?w=1'),
      text(', then ('),
      link('HTTP://example.com/tides_(sea)'),
      text(').'),
    ],
  ],
  ['https://a.example/?to=https://b.example/', [link('https://a.example/?to=https://b.example/')]],
  ['mailto:ann@example.com', [link('mailto:ann@example.com')]],
  ['**bold** @ann javascript:alert(1)', [text('**bold** @ann javascript:alert(1)')]],
  ['xhttp://example.com https:// http', [text('xhttp://example.com https:// http')]],
])('the addresses of a text without markup are links: %j', (topic, parts) => {
  expect(parseLinks(topic)).toEqual(parts)
})
