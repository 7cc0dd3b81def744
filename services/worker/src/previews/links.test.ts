import { expect, test } from 'vitest'
import { linksOf } from './make-previews.ts'

test.each([
  ['see https://a.example/x, please', ['https://a.example/x']],
  ['> [text](http://a.example/)\n- **https://b.example**', ['http://a.example/', 'https://b.example']],
  ['https://a.example https://a.example', ['https://a.example']],
  ['`https://a.example`\n```\nhttps://b.example\n```', []],
  ['mailto:ann@example.org ftp://a.example javascript://a.example', []],
  ['https://chat.example.com/channels/1 https://chat.example.com:444/', ['https://chat.example.com:444/']],
  [[1, 2, 3, 4].map((n) => `https://a.example/${n}`).join(' '), [1, 2, 3].map((n) => `https://a.example/${n}`)],
  [`https://a.example/${'a'.repeat(2_000)}`, []],
])('the links of %j', (content, links) => {
  expect(linksOf(content, 'https://chat.example.com')).toEqual(links)
})
