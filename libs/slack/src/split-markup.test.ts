import { describe, expect, test } from 'vitest'
import { splitMarkup } from './split-markup.ts'

const line = 'x'.repeat(39)
const linesOf = (count: number) => Array(count).fill(line).join('\n')

describe('splitMarkup', () => {
  test('keeps a short text, and nothing of an empty one', () => {
    expect(splitMarkup('a\nb', 100)).toEqual(['a\nb'])
    expect(splitMarkup(' \n', 100)).toEqual([])
  })

  test('splits between lines, else between words, else between characters', () => {
    expect(splitMarkup(linesOf(4), 120)).toEqual([linesOf(2), linesOf(2)])
    expect(splitMarkup(`${'word '.repeat(20)}end`, 80)).toEqual([
      'word word word word word word word word word word',
      ' word word word word word word word word word word',
      ' end',
    ])
    expect(splitMarkup('😀'.repeat(40), 71).map((part) => part.length)).toEqual([40, 40])
  })

  test('closes a block of code at the end of a part, and opens it again in the next part', () => {
    const parts = splitMarkup(`before\n\`\`\`typescript\n${linesOf(5)}\n\`\`\`\nafter`, 150)
    expect(parts).toEqual([
      `before\n\`\`\`typescript\n${linesOf(2)}\n\`\`\``,
      `\`\`\`typescript\n${linesOf(3)}\n\`\`\``,
      '```typescript\n```\nafter',
    ])
  })

  test('opens no block of code that is closed, or closed on its own line', () => {
    const parts = splitMarkup(`\`\`\`one\n\`\`\`\n\`\`\`two\`\`\`\n${linesOf(6)}`, 150)
    expect(parts.join('\n').match(/```/g)).toHaveLength(4)
  })

  test('no part is longer than allowed', () => {
    const fence = `\`\`\`${'language'.repeat(20)}\n${linesOf(200)}`
    for (const part of splitMarkup(fence, 500)) expect(part.length).toBeLessThanOrEqual(500)
  })
})
