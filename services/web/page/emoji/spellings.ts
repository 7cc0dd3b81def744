import type { Message } from '@parley/contract'

/** An emoji without the character that asks for a coloured picture. Programs may leave it out, so both spellings are the same emoji. */
export const plainEmoji = (emoji: string) => emoji.replaceAll('\ufe0f', '')

/** The spellings of an emoji that these reactions have. */
export const spellingsOf = (reactions: Readonly<Record<string, unknown>>, emoji: string) =>
  Object.keys(reactions).filter((one) => plainEmoji(one) === plainEmoji(emoji))

type Reactions = Message['reactions']

/** The reactions with that of a person, or without it in all its spellings. The person may be there twice: `joinSpellings` counts them once. */
export function withReaction(reactions: Reactions, emoji: string, userId: string, isOn: boolean): Reactions {
  const spellings = spellingsOf(reactions, emoji)
  const [spelling = emoji] = spellings
  if (isOn) return { ...reactions, [spelling]: [...(spellings.length > 0 ? reactions[spelling]! : []), userId] }
  const left = Object.entries(reactions).map(
    ([one, people]) => [one, spellings.includes(one) ? people.filter((id) => id !== userId) : people] as const,
  )
  return Object.fromEntries(left.filter(([, people]) => people.length > 0))
}

/** The reactions of a message, with all spellings of an emoji as one reaction. It has the spelling with a coloured picture, if there is one. */
export const joinSpellings = (reactions: Reactions) =>
  [...Map.groupBy(Object.keys(reactions), plainEmoji).values()].map((spellings) => ({
    // The character that asks for a picture is sorted last.
    emoji: spellings.toSorted().at(-1)!,
    people: [...new Set(spellings.flatMap((spelling) => reactions[spelling]!))],
  }))
