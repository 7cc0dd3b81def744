import { expect, test } from 'vitest'
import { editFor, type Format } from './format-text.ts'

/** Applies a format to the text between `⟦` and `⟧`, or at the caret `|`. The result shows the selection in the same way. */
function apply(format: Format, marked: string): string {
  const start = marked.search(/[⟦|]/)
  const value = marked.replace(/[⟦⟧|]/g, '')
  const end = marked.includes('⟧') ? marked.indexOf('⟧') - 1 : start
  const edit = editFor(format, value, start, end)
  const result = value.slice(0, edit.start) + edit.text + value.slice(edit.end)
  const [from, to] = edit.selected
  if (from === to) return `${result.slice(0, from)}|${result.slice(from)}`
  return `${result.slice(0, from)}⟦${result.slice(from, to)}⟧${result.slice(to)}`
}

test.each<[Format, string, string]>([
  ['bold', 'one ⟦two⟧ three', 'one ⟦**two**⟧ three'],
  ['italic', 'one ⟦two ⟧three', 'one ⟦_two_⟧ three'],
  ['strike', '⟦one\n\ntwo⟧', '⟦~one~\n\n~two~⟧'],
  ['code', 'one ⟦two⟧', 'one ⟦`two`⟧'],
  ['bold', '⟦שלום⟧ עולם', '⟦**שלום**⟧ עולם'],
  ['bold', '中⟦文⟧字', '中⟦**文**⟧字'],
  ['bold', '⟦snake_case⟧', '⟦**snake_case**⟧'],
  ['italic', '⟦snake_case⟧', '⟦_snake_case_⟧'],
  ['code', 'o⟦ne\ntw⟧o\nthree', '⟦```\none\ntwo\n```⟧\nthree'],
  ['quote', 'a\n⟦one\ntwo\n⟧b', 'a\n⟦> one\n> two⟧\nb'],
  ['list', '⟦one\n\ntwo⟧', '⟦- one\n- \n- two⟧'],
])('%s and the same again: %j', (format, before, after) => {
  expect(apply(format, before)).toBe(after)
  const plain = (text: string) => text.replace(/[⟦⟧]/g, '')
  expect(plain(apply(format, after))).toBe(plain(before))
})

test.each<[Format, string, string]>([
  ['bold', 'one **⟦two⟧** three', 'one ⟦two⟧ three'],
  ['bold', '*⟦two⟧*', '⟦two⟧'],
  ['bold', '⟦***two***⟧', '⟦two⟧'],
  ['bold', '中**⟦文⟧**字', '中⟦文⟧字'],
  ['bold', '- **⟦two⟧**', '- ⟦two⟧'],
  ['bold', '**⟦a\nb⟧**', '⟦a\nb⟧'],
  ['bold', '**⟦a\n\nb⟧**', '**⟦**a**\n\n**b**⟧**'],
  ['italic', '**_⟦two⟧_**', '⟦**two**⟧'],
  ['bold', '_**~⟦two⟧~**_', '⟦_~two~_⟧'],
  ['bold', '⟦_**two**_⟧', '⟦_two_⟧'],
  ['strike', '~~⟦two⟧~~', '⟦two⟧'],
  ['strike', '⟦~~two~~⟧', '⟦two⟧'],
  ['code', '``⟦t`o⟧``', '⟦t`o⟧'],
  ['bold', '⟦**one**\n two \n\n**three**⟧', '⟦**one**\n **two** \n\n**three**⟧'],
  ['bold', '`⟦two⟧`', '⟦**`two`**⟧'],
  ['bold', '⟦`**two**`⟧', '⟦**`**two**`**⟧'],
  ['code', '⟦**two**⟧', '⟦**`two`**⟧'],
  ['bold', '⟦*a* and *b*⟧', '⟦***a* and *b***⟧'],
  ['italic', 'a_⟦b⟧_c', 'a_⟦_b_⟧_c'],
  ['bold', '⟦  ⟧', '⟦  ⟧'],
  ['code', '```\n⟦one⟧\n```', '⟦one⟧'],
  ['code', 'a\n```ts\n⟦one\ntwo⟧\n```\nb', 'a\n⟦one\ntwo⟧\nb'],
  ['code', '```\none\n⟦two⟧\n```', '```\none\n⟦`two`⟧\n```'],
  ['quote', '⟦> one\n>\n> two⟧', '⟦one\n\ntwo⟧'],
  ['quote', '⟦> one\n\n> two⟧', '⟦one\n\ntwo⟧'],
  ['quote', '⟦> one\ntwo⟧', '⟦> > one\n> two⟧'],
  ['list', '⟦- one\n- two⟧', '⟦one\ntwo⟧'],
  ['link', 'see ⟦here⟧', 'see [here](⟦https://⟧)'],
  ['link', 'see [here](⟦https://⟧)', 'see ⟦here⟧'],
  ['link', '⟦[here](https://example.com)⟧', '⟦here⟧'],
  ['link', '[[1] here](⟦https://example.com⟧)', '⟦[1] here⟧'],
])('%s of %j', (format, before, after) => {
  expect(apply(format, before)).toBe(after)
})

test.each<[Format, string, string]>([
  ['bold', 'one |', 'one **|**'],
  ['bold', 'one **|**', 'one |'],
  ['bold', '**loud|**', '**loud**|'],
  ['bold', '- **loud|**', '- **loud**|'],
  ['bold', '**a** b|**c**', '**a** b**|****c**'],
  ['code', '|', '`|`'],
  ['code', '`|`', '|'],
  ['quote', 'on|e', '> on|e'],
  ['quote', '> on|e', 'on|e'],
  ['quote', '|> one', '|one'],
  ['list', '|', '- |'],
  ['list', '- |', '|'],
  ['link', '|', '[|](https://)'],
  ['link', '[|](https://)', '|'],
  ['link', '[a](https://b)|', '[a](https://b)[|](https://)'],
])('%s at the caret of %j', (format, before, after) => {
  expect(apply(format, before)).toBe(after)
})
