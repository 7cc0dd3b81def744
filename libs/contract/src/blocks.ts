/*
 * The blocks that a message shows instead of its text, in the shape of Slack's Block Kit. Only the blocks and fields
 * listed here are stored. A text of type `mrkdwn` is in Parley's markup (docs/markup.md). Every address begins with
 * http:, https: or mailto:.
 */

export interface BlockText {
  type: 'plain_text' | 'mrkdwn'
  text: string
}

export interface BlockImage {
  type: 'image'
  image_url: string
  alt_text: string
  title?: BlockText
}

export interface BlockButton {
  type: 'button'
  action_id: string
  text: BlockText
  /** A button with an address is a link. */
  url?: string
  value?: string
  style?: 'primary' | 'danger'
  confirm?: BlockConfirm
}

/** What a person is asked before a click on a button is sent. */
export interface BlockConfirm {
  title?: BlockText
  text: BlockText
  /** The label of the button that sends the click. */
  confirm?: BlockText
  /** The label of the button that sends nothing. */
  deny?: BlockText
  style?: 'primary' | 'danger'
}

export interface RichTextStyle {
  bold?: true
  italic?: true
  strike?: true
  code?: true
}

export type RichTextPart =
  | { type: 'text'; text: string; style?: RichTextStyle }
  | { type: 'link'; url: string; text?: string; style?: RichTextStyle }
  | { type: 'emoji'; name: string }

export interface RichTextSection {
  type: 'rich_text_section' | 'rich_text_preformatted' | 'rich_text_quote'
  elements: RichTextPart[]
}

export interface RichTextList {
  type: 'rich_text_list'
  style: 'bullet' | 'ordered'
  indent?: number
  elements: RichTextSection[]
}

export interface RichText {
  type: 'rich_text'
  elements: (RichTextSection | RichTextList)[]
}

export interface BlockTable {
  type: 'table'
  rows: (BlockText | RichText)[][]
}

/** A block of a message or of an attachment. */
export type PlainBlock =
  | { type: 'header'; text: BlockText }
  | { type: 'section'; text?: BlockText; fields?: BlockText[]; accessory?: BlockButton | BlockImage; block_id?: string }
  | { type: 'context'; elements: (BlockText | BlockImage)[] }
  | { type: 'divider' }
  | BlockImage
  | { type: 'actions'; elements: BlockButton[]; block_id?: string }
  | RichText
  | BlockTable

/** Blocks beside a coloured bar. Slack calls this an attachment. */
export interface AttachmentBlock {
  type: 'attachment'
  /** `#rrggbb` */
  color: string | null
  blocks: PlainBlock[]
}

export type MessageBlock = PlainBlock | AttachmentBlock

/** The largest number of blocks of a message, and of bytes of their JSON. */
export const blockLimits = { blocks: 50, attachments: 100, bytes: 60_000 } as const
