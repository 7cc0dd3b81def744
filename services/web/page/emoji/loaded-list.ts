import listed from 'virtual:emoji'
import { createEmojiList } from './emoji-list.ts'

export { newest } from 'virtual:emoji'
export const emojiList = createEmojiList(listed)
