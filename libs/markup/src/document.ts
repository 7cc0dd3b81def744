/** A part of a line. `text` and `code` hold text as it was typed; whoever renders them must escape it. */
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'break' }
  | { kind: 'code'; text: string }
  | { kind: 'bold' | 'italic' | 'strike'; children: Inline[] }
  /** `url` begins with http:, https: or mailto: and has no white space, control or formatting characters. */
  | { kind: 'link'; url: string; children: Inline[] }
  /** `name` as it was typed, without the `@` or `#`. */
  | { kind: 'mention' | 'channel'; name: string }
  /** `name` without the colons. Nobody has checked that such an emoji exists. */
  | { kind: 'emoji'; name: string }

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'quote'; children: Block[] }
  /** `start` is the number of the first item of an ordered list, else null. */
  | { kind: 'list'; start: number | null; items: Block[][] }
  /** `language` is what stood behind the opening fence, lower case, or null. */
  | { kind: 'code-block'; language: string | null; text: string }

/**
 * Decides which of the texts behind an `@` or `#` is a name. The candidates are ordered from long to short, as typed:
 * `Ann Lee.`, `Ann Lee`, `Ann`. Returns one of them, or null when none is a name.
 */
export type ChooseName = (candidates: string[]) => string | null

export interface MarkupOptions {
  /** Default: the first word, without punctuation at its end. */
  chooseMention?: ChooseName
  /** Default: the first word, without punctuation at its end. */
  chooseChannel?: ChooseName
}

/** Quotes, lists, emphasis and links inside each other, counted together. What is nested deeper is text. */
export const deepestLevel = 8
