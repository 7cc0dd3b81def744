/** An address in a text, without the punctuation after it. Parentheses belong to it in pairs. */
const address = /(https?:\/\/(?:\([^\s<>()]*\)|[^\s<>()])*(?:\([^\s<>()]*\)|[^\s<>"'.,:;!?()[\]]))/

/** A text of one line whose addresses are links, such as the topic of a channel. */
export const renderLinks = (text: string | null) =>
  text?.split(address).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <a key={index} href={part} target="_blank" rel="noopener noreferrer nofollow">
        {part}
      </a>
    ),
  )
