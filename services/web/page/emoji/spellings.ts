/** An emoji without the character that asks for a coloured picture. Programs may leave it out, so both spellings are the same emoji. */
export const plainEmoji = (emoji: string) => emoji.replaceAll('\ufe0f', '')

/** The spellings of an emoji that these reactions have. */
export const spellingsOf = (reactions: Readonly<Record<string, unknown>>, emoji: string) =>
  Object.keys(reactions).filter((one) => plainEmoji(one) === plainEmoji(emoji))

/** The reactions of a message, with all spellings of an emoji as one reaction. It has the spelling with a coloured picture, if there is one. */
export const joinSpellings = (reactions: Readonly<Record<string, readonly string[]>>) =>
  [...Map.groupBy(Object.keys(reactions), plainEmoji).values()].map((spellings) => ({
    // The character that asks for a picture is sorted last.
    emoji: spellings.toSorted().at(-1)!,
    people: [...new Set(spellings.flatMap((spelling) => reactions[spelling]!))],
  }))
