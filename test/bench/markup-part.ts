import { parseMarkup } from '@parley/markup'
import { type Row, spreadText } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import type { Stores } from './stores.ts'

const length = 16_000
const goalMs = 20

/** Each is repeated to the greatest length of a message. Parsers that look ahead or back take seconds for some of them. */
const texts: Record<string, string> = {
  'ordinary text': 'Hello *everybody*, see https://example.org/a_b and `code` for @ann: _thanks_ :smile:\n',
  'open brackets': '[',
  'links without end': '[a](',
  'addresses without end': '[a](https://x(',
  'emphasis without end': '*a_ ',
  'all emphasis': '~*_~~*_**_',
  'quotes in quotes': '> ',
  'lists in lists': '  - a\n',
  'backticks of two lengths': '``a`',
  'backticks in links': '[`](',
  'invalid addresses': 'http://%',
  mentions: '@a a',
}

/** The longest time of one text of 16,000 characters, beside the time of ordinary text of that length. */
export async function measureMarkup(_scene: Scene, { options }: Stores): Promise<Row[]> {
  const times = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, timesOf(text, options.rounds)]))
  const ordinary = spreadOf(times['ordinary text']!)
  const slowest = Object.entries(times).toSorted(([, a], [, b]) => spreadOf(b).median - spreadOf(a).median)[0]!
  const spread = spreadOf(slowest[1])
  return [
    {
      part: 'markup',
      work: `markup of ${length.toLocaleString('en')} characters, the slowest of ${Object.keys(texts).length}: ${slowest[0]}`,
      ours: spreadText(spread, 'ms', 1),
      against: 'ordinary text of that length',
      theirs: spreadText(ordinary, 'ms', 1),
      ratio: `${(spread.median / ordinary.median).toFixed(2)}×`,
      goal: `≤ ${goalMs} ms`,
      met: spread.median <= goalMs,
      figures: times,
    },
  ]
}

function timesOf(text: string, rounds: number): number[] {
  const content = text.repeat(Math.ceil(length / text.length)).slice(0, length)
  for (let warmUp = 0; warmUp < 10; warmUp++) parseMarkup(content)
  return Array.from({ length: rounds }, () => {
    const start = performance.now()
    parseMarkup(content)
    return performance.now() - start
  })
}
