import type { RichText, RichTextPart, RichTextSection } from '@parley/contract'
import type { ComponentChildren } from 'preact'
import { emojiOrName } from '../emoji/emoji.ts'

/** A block of formatted text, which a program has sent as a tree of its parts. */
export const RichTextBlock = ({ block: { elements } }: { block: RichText }) => (
  <div class="text plain">
    {elements.map((element) => {
      if (element.type !== 'rich_text_list') return renderSection(element)
      const items = element.elements.map((item) => <li>{item.elements.map(renderPart)}</li>)
      const indent = { '--indent': element.indent ?? 0 }
      return element.style === 'ordered' ? <ol style={indent}>{items}</ol> : <ul style={indent}>{items}</ul>
    })}
  </div>
)

function renderSection({ type, elements }: RichTextSection) {
  const parts = elements.map(renderPart)
  if (type === 'rich_text_quote') return <blockquote>{parts}</blockquote>
  if (type === 'rich_text_section') return <div>{parts}</div>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre tabIndex={0} dir="ltr">
      <code>{parts}</code>
    </pre>
  )
}

function renderPart(part: RichTextPart): ComponentChildren {
  if (part.type === 'emoji') return emojiOrName(part.name)
  const { bold, italic, strike, code } = part.style ?? {}
  let rendered: ComponentChildren = part.text
  if (part.type === 'link') {
    rendered = (
      <a title={part.url} {...linkTo(part.url)}>
        {part.text ?? part.url}
      </a>
    )
  }
  if (code) rendered = <code>{rendered}</code>
  if (strike) rendered = <s>{rendered}</s>
  if (italic) rendered = <em>{rendered}</em>
  return bold ? <strong>{rendered}</strong> : rendered
}

/** The attributes of a link. The server has checked the address before it stored the block, and this is a second check. */
export const linkTo = (url: string) =>
  /^(https?|mailto):/i.test(url) && ({ href: url, target: '_blank', rel: 'noopener noreferrer nofollow' } as const)
