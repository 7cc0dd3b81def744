import { isEmoji } from '@parley/accounts'
import { reactionOf } from './emoji-names.ts'

/** The emoji in Unicode of a text that is an emoji, or its name in Slack between colons. Otherwise undefined. */
export function readEmoji(text: string): string | undefined {
  if (!isEmoji(text) && !/^:\S+:$/.test(text)) return undefined
  const emoji = reactionOf(text) ?? text
  // Other names stay texts such as `:name:`.
  return isEmoji(emoji) ? emoji : undefined
}
