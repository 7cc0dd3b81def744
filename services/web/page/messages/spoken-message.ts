import type { EphemeralMessage, Message } from '@parley/contract'
import { type Block, type Inline, parseMarkup } from '@parley/markup'
import { textOfMessage } from '../app/ephemeral-messages.ts'
import { emojiOrName } from '../emoji/emoji.ts'
import { t } from '../texts/texts.ts'
import { namesOfFiles } from './file-names.ts'

/** A screen reader reads only this part of a longer message. */
const maxCharacters = 500

/** A new message as a screen reader reads it: the author, the text without the characters of its markup, and the names of the files. */
export function spokenMessage(message: Message | EphemeralMessage, isEphemeral: boolean): string {
  const files = 'images' in message ? namesOfFiles(message) : []
  const parts = [...parseMarkup(textOfMessage(message)).map(textOf), ...files].filter(Boolean)
  const words = `${message.author.userName}: ${beginningOf(parts.join('\n'))}`
  return isEphemeral ? `${t('Only visible to you')}. ${words}` : words
}

const beginningOf = (text: string) =>
  text.length > maxCharacters ? `${text.slice(0, maxCharacters).toWellFormed()}…` : text

function textOf(part: Block | Inline): string {
  switch (part.kind) {
    case 'text':
    case 'code':
    case 'code-block':
      return part.text
    case 'break':
      return '\n'
    case 'mention':
      return `@${part.name}`
    case 'channel':
      return `#${part.name}`
    case 'emoji':
      return emojiOrName(part.name)
    case 'list':
      return part.items.map((item) => item.map(textOf).join('\n')).join('\n')
    case 'quote':
      return part.children.map(textOf).join('\n')
    default:
      return part.children.map(textOf).join('')
  }
}
