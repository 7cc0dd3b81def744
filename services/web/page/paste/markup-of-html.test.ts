import { expect, test } from 'vitest'
import { markupOfHtml } from './markup-of-html.ts'

const docs = (content: string) =>
  `<meta charset='utf-8'><b style="font-weight:normal;" id="docs-internal-guid-1">${content}</b>`
const docsLine = (spans: string) =>
  `<p dir="ltr" style="line-height:1.38;margin-top:0pt;margin-bottom:0pt;">${spans}</p>`
const docsText = (text: string, style = 'font-weight:400;font-style:normal;text-decoration:none') =>
  `<span style="font-size:11pt;font-family:Arial,sans-serif;color:#000000;${style};vertical-align:baseline;white-space:pre-wrap;">${text}</span>`
const docsItem = (text: string, level = 1) =>
  `<li dir="ltr" style="list-style-type:disc;font-weight:400;white-space:pre;" aria-level="${level}"><p dir="ltr" style="margin-top:0pt;margin-bottom:0pt;" role="presentation">${docsText(text)}</p></li>`

const word = (content: string) => `<html xmlns:o="urn:schemas-microsoft-com:office:office"
xmlns:w="urn:schemas-microsoft-com:office:word"><head><title>x</title><style><!-- p.MsoNormal {margin:0cm; content:"</p>"} --></style>
<!--[if gte mso 9]><xml><w:WordDocument></w:WordDocument></xml><![endif]--></head>
<body lang=DE style='tab-interval:35.4pt'><!--StartFragment-->

${content}

<!--EndFragment--></body></html>`
const wordItem = (sign: string, text: string, level = 1) => `<p class=MsoListParagraph
style='margin-left:36.0pt;text-indent:-18.0pt;mso-list:l0 level${level} lfo1'><![if !supportLists]><span
style='font-family:Symbol'><span style='mso-list:Ignore'>${sign}<span
style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp; </span></span></span><![endif]>${text}<o:p></o:p></p>
`

test.each<[string, string, string]>([
  [
    'Google Docs: text',
    docs(
      docsLine(
        `${docsText('Ship it ')}${docsText('today', 'font-weight:700;font-style:normal;text-decoration:none')}${docsText(', not ')}${docsText('tomorrow ', 'font-weight:400;font-style:italic;text-decoration:none')}${docsText('or ')}${docsText('never', 'font-weight:400;font-style:normal;text-decoration:line-through')}`,
      ) +
        '<br />' +
        docsLine(
          `<a href="https://example.org/a_(b)" style="text-decoration:none;">${docsText('The plan', 'color:#1155cc;text-decoration:underline')}</a>`,
        ),
    ),
    'Ship it **today**, not _tomorrow_ or ~never~\n\n[The plan](https://example.org/a_%28b%29)',
  ],
  [
    'Google Docs: lists in lists',
    docs(
      `<ul style="margin-top:0;">${docsItem('one')}<ul>${docsItem('two', 2)}</ul>${docsItem('three')}</ul><ol>${docsItem('first')}${docsItem('second')}</ol>`,
    ),
    '- one\n  - two\n- three\n1. first\n2. second',
  ],
  [
    'Word: text',
    word(`<h1>Minutes<o:p></o:p></h1>

<p class=MsoNormal>We <b>agree</b> on <i>the
second</i> draft &#8211; <s>perhaps</s>.<o:p></o:p></p>`),
    '**Minutes**\n\nWe **agree** on _the second_ draft – ~perhaps~.',
  ],
  [
    'Word: lists',
    word(
      `<p class=MsoNormal>To do:<o:p></o:p></p>\n${wordItem('·', 'paint')}${wordItem('o', 'twice', 2)}${wordItem('1.', 'sell')}`,
    ),
    'To do:\n\n- paint\n  - twice\n1. sell',
  ],
  [
    'a web page',
    `<!doctype html><h2 style="font-weight: 600">Install</h2><p>Run <code>npm ci</code>, then <em>wait</em>.</p>
     <pre><code class="hljs language-ts"><span>const</span> a = 1

if (a &lt; 2) stop()
</code></pre>
     <blockquote><p>First</p><p>Second <strong>part</strong></p></blockquote><p>After</p>`,
    '**Install**\n\nRun `npm ci`, then _wait_.\n\n```ts\nconst a = 1\n\nif (a < 2) stop()\n```\n\n> First\n>\n> Second **part**\n\nAfter',
  ],
  ['lists of a page', '<ol start="3"><li>c<ul><li>d</li></ul><li>e</ol>', '3. c\n  - d\n4. e'],
  ['adjacent elements', '<b>one</b> <b>two</b><b> three</b>', '**one two three**'],
  ['formats in each other', '<b>all <i>of <s>it</s></i></b> now', '**all _of ~it~_** now'],
  ['a part of a word', 'un<b>believ</b>able <b>yes</b>', 'unbelievable **yes**'],
  ['a part of a Chinese word', '中<b>文</b>字', '中**文**字'],
  ['code with backticks', '<code>a`b</code>', '`` a`b ``'],
  ['line breaks', '<div><b>a</b></div><div><br></div><div>b<br>c</div>', '**a**\n\nb\nc'],
  ['a table', '<table><tr><th>a</th><td><b>b</b></td></tr><tr><td>1</td><td>2</td></tr></table>', 'a\t**b**\n1\t2'],
  [
    'links',
    '<a href="https://example.org/">site</a> <a href="mailto:a@example.org">a</a> <a href="https://example.org/2">[FIRING:1] disk</a>',
    '[site](https://example.org/) [a](mailto:a@example.org) [[FIRING:1] disk](https://example.org/2)',
  ],
  [
    'other links',
    '<b>a</b> <a href="javascript:alert(1)">b</a> <a href="https://example.org/#1">[1]</a> <a href="https://example.org/">a]</a> <a href="https://x.org/">https://x.org/</a>',
    '**a** b [1] a] https://x.org/',
  ],
  [
    'emoji of Slack and of other programs, which are pictures',
    '<b>Done</b> <span aria-label="tada emoji"><img data-stringify-emoji=":tada:" alt=":tada:" src="x"></span> <img alt="👍🏽" class="emoji"> <img alt="chart: 3">.',
    '**Done** :tada: 👍🏽 .',
  ],
  ['an incomplete text', '<b>a</b> &eacute;<i class="', '**a** é'],
  [
    'what is not text',
    '<b>a</b><script>"</b>"</script><img src="https://example.org/x.png" alt="x"><!-- c --><span style="display:none">d</span>',
    '**a**',
  ],
])('%s', (_, html, markup) => {
  expect(markupOfHtml(html)).toBe(markup)
})

test.each<[string, string]>([
  ['text without a format', '<p style="color: red">one</p><p>two &amp; three</p>'],
  [
    'Visual Studio Code',
    `<meta charset='utf-8'><div style="color: #ccc;font-family: Consolas;font-weight: normal;white-space: pre;"><div><span style="color: #569cd6;font-weight: bold;">const</span><span> a = b * c * d</span></div></div>`,
  ],
  [
    'another editor',
    '<html><body><pre style="font-family:Menlo"><span style="font-weight:bold">int</span> a;<br></pre></body></html>',
  ],
  [
    'a spreadsheet',
    '<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table><tr><td><b>a</b></td></tr></table></html>',
  ],
  ['very deep elements', `${'<div>'.repeat(5_000)}<b>a</b>`],
  ['an image', '<img src="https://example.org/x.png">'],
])('is plain text: %s', (_, html) => {
  expect(markupOfHtml(html)).toBeUndefined()
})

/** Each would take minutes if the time grew with the square of the length. The time limit of a test ends it then. */
test.each(['<', '<a ', '<a "', '<!--', '&#', '<b>a</b> ', '<li>', '</li>', '<p>`', 'a\n', '<a b=\'"'])(
  'takes linear time: %j',
  (part) => {
    expect(typeof (markupOfHtml(part.repeat(Math.floor(500_000 / part.length))) ?? '')).toBe('string')
  },
)
