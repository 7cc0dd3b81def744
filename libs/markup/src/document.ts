/** A part of a line. `text` and `code` hold text as it was typed. Code that renders them must escape it. */
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'break' }
  | { kind: 'code'; text: string }
  | { kind: 'bold' | 'italic' | 'strike'; children: Inline[] }
  /** `url` begins with http:, https: or mailto: and has no white space, control or formatting characters. */
  | { kind: 'link'; url: string; children: Inline[] }
  /** `name` is as it was typed, without the `@` or `#`. */
  | { kind: 'mention' | 'channel'; name: string }
  /** `name` is without the colons around it, such as `wave` or `wave::skin-tone-3`. There need not be such an emoji. */
  | { kind: 'emoji'; name: string }

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'quote'; children: Block[] }
  /** `start` is the number of the first item of an ordered list, else null. */
  | { kind: 'list'; start: number | null; items: Block[][] }
  /** `language` is the word after the opening fence, in lower case, or null. */
  | { kind: 'code-block'; language: string | null; text: string }

/**
 * Chooses which of the texts after an `@` or `#` is a name. The candidates are as typed, from long to short: `Ann
 * Lee.`, `Ann Lee`, `Ann`. Returns one of them, or null when none is a name.
 */
export type ChooseName = (candidates: string[]) => string | null

export interface MarkupOptions {
  /** Default: the first word, without punctuation at its end. */
  chooseMention?: ChooseName
  /** Default: the first word, without punctuation at its end. */
  chooseChannel?: ChooseName
}

/** The largest number of quotes, lists, emphases and links inside each other. Markup that is nested deeper is text. */
export const deepestLevel = 8
