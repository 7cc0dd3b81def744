import { expect, test } from 'vitest'
import { textOfBlocks } from './block-text.ts'
import { readBlocks } from './read-blocks.ts'

const emojiOf = (emoji: object) =>
  textOfBlocks(
    readBlocks([
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'emoji', ...emoji }] }] },
    ]),
  )

test.each([
  [{ name: 'wave' }, ':wave:'],
  [{ name: 'wave', unicode: '1f44b-1f3fc', skin_tone: 3 }, ':wave::skin-tone-3:'],
  [{ name: 'wave::skin-tone-3' }, ':wave::skin-tone-3:'],
  [{ name: 'wave::skin-tone-3', skin_tone: 3 }, ':wave::skin-tone-3:'],
  [{ name: 'handshake::skin-tone-2-6' }, ':handshake::skin-tone-2-6:'],
  [{ name: 'wave', skin_tone: 1 }, ':wave:'],
  [{ name: 'wave', skin_tone: '9::x' }, ':wave:'],
  [{ name: 'wave::skin-tone-9' }, ''],
  [{ name: '<b>' }, ''],
])('an emoji of a rich_text keeps its skin tone: %j', (emoji, text) => expect(emojiOf(emoji)).toBe(text))
