export { textOfBlocks } from './block-text.ts'
export {
  type ConvertText,
  type MrkdwnNames,
  markdownToMarkup,
  mentionedGroupIds,
  mentionedIds,
  namedChannelIds,
  type SlackMentions,
  toMarkup,
  toMrkdwn,
} from './mrkdwn.ts'
export { isPretext, readAttachments } from './read-attachments.ts'
export { InvalidBlocks, longestMarkdown, readBlocks, sectionsOf } from './read-blocks.ts'
export { readReference } from './rich-text.ts'
export { slackSignature } from './signatures.ts'
export { parseMoment, parseTs, slackTs } from './timestamps.ts'
export { safeText, safeUrl } from './untrusted.ts'
