import { describe, expect, test } from 'vitest'
import { markdownToMarkup, toMarkup, toMrkdwn } from './mrkdwn.ts'

const names = {
  user: (id: string) => (id === '1' ? 'ann' : undefined),
  channel: () => undefined,
  group: (id: string) => (id === '2' ? 'on-call' : undefined),
}

describe('markup becomes mrkdwn', () => {
  const mentions = new Map([
    ['ann', '<@1>'],
    ['ann lee', '<@2>'],
  ])

  test.each([
    [
      '**bold**, ~~struck out~~ and [a *link*](https://example.org/a)',
      '*bold*, ~struck out~ and <https://example.org/a|a *link*>',
    ],
    ['[a **link**](https://example.org/a_(b))', '<https://example.org/a_(b)|a *link*>'],
    ['@ann, @Ann Lee and (@ann) but not x@ann or @anna', '<@1>, <@2> and (<@1>) but not x@ann or @anna'],
    ['[[FIRING:1] disk](https://example.org)', '<https://example.org|[FIRING:1] disk>'],
    ['a < b && c > d', 'a &lt; b &amp;&amp; c &gt; d'],
    ['**`code`, [link](https://a.b) and https://c.d**', '*`code`, <https://a.b|link> and https://c.d*'],
  ])('%j', (markup, mrkdwn) => expect(toMrkdwn(markup, mentions)).toBe(mrkdwn))

  test.each([
    ['code', '`2**3**4 ~~x~~ [a](https://a.b) @ann`'],
    ['code with backticks inside', '``a ` @ann **b** ``'],
    ['code on two lines', '`@ann\n**b**`'],
    ['a block of code', '```ts\n@ann **b**\n\n~~c~~ [d](https://e.f)\n```'],
    ['a block of code with backticks inside', '```\na ``` @ann **b**\n```'],
    ['a block of code in a list', '- ```\n  @ann **b**\n  ```'],
    ['a block of code on one line', '```@ann **b**```'],
    ['a block of code without an end', 'see\n```\n@ann **b**\n\n~~c~~'],
    ['a block of code after a backtick', 'a ` here\n```\n@ann ` **b**\n```'],
    ['an address', 'https://example.org/**a**/~~b~~/c'],
  ])('%s stays as it is', (_name, markup) => expect(toMrkdwn(markup, mentions)).toBe(markup))

  test.each([
    ['backticks that nothing closes', 'a ``` **b** and ` **c**', 'a ``` *b* and ` *c*'],
    ['paragraphs with one backtick each', 'a ` **b**\n\nc ` **d**', 'a ` *b*\n\nc ` *d*'],
    ['an address in emphasis', '**https://example.org**', '*https://example.org*'],
  ])('emphasis beside %s', (_name, markup, mrkdwn) => expect(toMrkdwn(markup)).toBe(mrkdwn))

  test('special characters in code and addresses are escaped', () => {
    expect(toMrkdwn('`a<b>` https://a.b/?c&d')).toBe('`a&lt;b&gt;` https://a.b/?c&amp;d')
    expect(toMrkdwn('[a & b](https://a.b/?c&d)')).toBe('<https://a.b/?c&amp;d|a &amp; b>')
  })
})

describe('Markdown becomes markup', () => {
  test.each([
    ['*italic*, **bold**, __bold__, _italic_ and ~~gone~~', '_italic_, **bold**, **bold**, _italic_ and ~~gone~~'],
    ['**bold *and italic* here**', '**bold _and italic_ here**'],
    ['# Build **7**\n## Log\ntext # no heading', '**Build 7**\n**Log**\ntext # no heading'],
    ['2 * 3 * 4 and a*b*c and snake__case__name', '2 * 3 * 4 and a*b*c and snake__case__name'],
    ['`*code*` and [a *link*](https://example.org/__a__)', '`*code*` and [a *link*](https://example.org/__a__)'],
    ['```js\n# *x*\n```\n*y*', '```js\n# *x*\n```\n_y_'],
    ['<@1>: a &lt; b, <!here>', '@ann: a < b, @here'],
    ['- *one*\n1. __two__', '- _one_\n1. **two**'],
  ])('%j', (markdown, markup) => expect(markdownToMarkup(markdown, names)).toBe(markup))
})

describe('mrkdwn becomes markup', () => {
  test.each([
    ['<https://example.org|a link> and <@1>, &lt;soon&gt;', '[a link](https://example.org) and @ann, <soon>'],
    ['_<@1>_ done', '@ann done'],
    ['<https://example.org|[FIRING:1] disk [db-1]>', '[[FIRING:1] disk [db-1]](https://example.org)'],
    ['<https://example.org|a [b [c]] d]>', '[a (b [c]) d)](https://example.org)'],
    ['`code`<@1>', '`code` @ann'],
    ['<!subteam^2> and *<!subteam^2|@old>*', '@on-call and @on-call'],
    ['<!subteam^3> and <!subteam^3|@gone>', '@subteam and @gone'],
  ])('%j', (mrkdwn, markup) => expect(toMarkup(mrkdwn, names)).toBe(markup))

  test.each([
    ['`a<@1>b`', '`a@annb`'],
    ['`**<@1>** x`', '`**@ann** x`'],
    ['`<https://example.org>` `<https://example.org|docs>`', '`https://example.org` `docs (https://example.org)`'],
    ['```\n*<@1>* <https://example.org|docs>\n```', '```\n*@ann* docs (https://example.org)\n```'],
    ['`a &lt; b &amp; c`', '`a < b & c`'],
  ])('code keeps its text: %j', (mrkdwn, markup) => expect(toMarkup(mrkdwn, names)).toBe(markup))
})
