/** The limits of the interface. */
export const limits = {
  // Lengths of texts, in code points as JSON Schema counts them. `lengthOf` counts where no schema does.
  userName: 64,
  displayName: 100,
  title: 100,
  statusText: 100,
  channelName: 80,
  groupName: 100,
  topic: 250,
  content: 16_000,
  search: 1_000,
  reaction: 64,
  serverName: 80,
  webhookName: 80,
  tokenName: 80,
  commandName: 32,
  commandHint: 200,
  email: 254,
  shortestPassword: 8,
  password: 1_000,
  idempotencyKey: 255,
  nonce: 64,
  storedName: 100,

  // Numbers of items.
  /** Mentions of one message. Further ones are plain text. */
  mentions: 50,
  /** Files on a message. It may have as many images besides. */
  attachments: 50,
  /** Members that one request may add to or remove from a group or a channel. */
  groupMembers: 10_000,
  /** Events of a channel with more members than this leave out the list of members. */
  eventMembers: 200,
  /** Largest page of a listing. */
  pageSize: 200,
  /** Largest page of people and of their presence. The items are short. */
  peoplePageSize: 1_000,
  /** Ids of saved messages in one response. */
  savedIds: 1_000,

  // Sizes, in bytes.
  file: 25 * 1024 * 1024,
  image: 10 * 1024 * 1024,
  thumbnail: 1024 * 1024,
  avatar: 1024 * 1024,
  /** The body of an upload: more than a file as base64, so that a file that is a little too large gets an error about the file. */
  uploadBody: 40 * 1024 * 1024,

  /** The last moment of an expiry in epoch milliseconds: JavaScript has no later date, so no client could show it. */
  expiresAt: 8_640_000_000_000_000,
} as const

/**
 * The length of a text in code points: an emoji beyond the Basic Multilingual Plane counts once, not twice as in
 * `text.length`.
 */
export function lengthOf(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) length++
  return length
}

/** The first `count` code points of a text. */
export const firstCharacters = (text: string, count: number): string =>
  // No code point takes more than two code units.
  [...text.slice(0, 2 * count)].slice(0, count).join('')

/** The allowed extensions of uploads. */
// biome-ignore format: a short list
export const fileExtensions = [
  'pdf', 'txt', 'md', 'markdown', 'csv', 'json', 'zip', 'doc', 'xls', 'ppt', 'docx', 'xlsx', 'pptx',
] as const
export const imageExtensions = ['jpg', 'jpeg', 'png', 'webp', 'svg'] as const

// Not white space, a control character, an invisible character or the blank Braille pattern.
const visible = /[^\s\p{Cc}\p{DI}\u2800]/u

/** Whether a text shows nothing. */
export const isBlank = (text: string): boolean => !visible.test(text)
