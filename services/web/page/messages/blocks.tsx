import type {
  BlockButton,
  BlockImage,
  BlockTable,
  BlockText,
  Message,
  MessageBlock,
  RichText,
  RichTextPart,
  RichTextSection,
} from '@parley/contract'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { emojiByName } from '../emoji/emoji.ts'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'
import { textOf } from '../ui/problems.ts'
import { Text, withoutHeapedMarks } from './markup.tsx'

interface BlocksProps {
  /** Without an id it cannot be clicked. What the person alone was told has a `clickToken`. */
  message: Pick<Message, 'content' | 'blocks' | 'mentions'> & { id?: string; clickToken?: string }
  workspace: Workspace
  id?: string
}

/** What a message shows instead of its text. The text, which has the same words, stands in for blocks that this page does not know. */
export function Blocks(props: BlocksProps) {
  const { message, workspace, id } = props
  const [problem] = useErrorBoundary()
  if (problem) return <Text id={id} content={message.content} mentions={message.mentions} workspace={workspace} />
  return <AllBlocks {...props} />
}

/** A component of its own, so that what it throws is caught above it. */
const AllBlocks = ({ message, workspace, id }: BlocksProps) => (
  <div class="blocks" id={id} dir="auto">
    {message.blocks.map((block) =>
      drawBlock(block, {
        drawText: ({ type, text }) =>
          type === 'mrkdwn' ? (
            <Text content={text} mentions={message.mentions} workspace={workspace} isPart />
          ) : (
            <div class="text plain">{withEmoji(text)}</div>
          ),
        drawButton: (button, blockId) => (
          <BlocksButton button={button} blockId={blockId} message={message} workspace={workspace} />
        ),
      }),
    )}
  </div>
)

type DrawText = (text: BlockText) => ComponentChildren

/** How a message draws what depends on the message. */
interface Draw {
  drawText: DrawText
  drawButton: (button: BlockButton, blockId: string | undefined) => ComponentChildren
}

function drawBlock(block: MessageBlock, draw: Draw): ComponentChildren {
  const { drawText } = draw
  switch (block.type) {
    case 'header':
      return <div class="block-header">{drawText(block.text)}</div>
    case 'section': {
      const { text, fields = [], accessory } = block
      return (
        <div class="block-section">
          <div>
            {text && drawText(text)}
            {fields.length > 0 && <div class="block-fields">{fields.map(drawText)}</div>}
          </div>
          {accessory && drawElement(accessory, draw, block.block_id)}
        </div>
      )
    }
    case 'context':
      return <div class="block-context">{block.elements.map((element) => drawElement(element, draw))}</div>
    case 'divider':
      return <hr />
    case 'image':
      return <ImageLink image={block} />
    case 'actions':
      return (
        <div class="block-actions">{block.elements.map((element) => drawElement(element, draw, block.block_id))}</div>
      )
    case 'rich_text':
      return <Rich block={block} />
    case 'table':
      return drawTable(block, drawText)
    case 'attachment':
      return (
        <div class="block-attachment" style={{ '--bar': block.color }}>
          {block.blocks.map((inner) => drawBlock(inner, draw))}
        </div>
      )
    default:
      throw new Error('a newer server has sent a block that this page does not know')
  }
}

function drawElement(
  element: BlockText | BlockImage | BlockButton,
  { drawText, drawButton }: Draw,
  blockId?: string,
): ComponentChildren {
  if (element.type === 'button') return drawButton(element, blockId)
  return element.type === 'image' ? <ImageLink image={element} /> : drawText(element)
}

/** The server has checked the links before it stored them. This second check costs nothing. */
const linkTo = (url: string) =>
  /^(https?|mailto):/i.test(url) && ({ href: url, target: '_blank', rel: 'noopener noreferrer nofollow' } as const)

interface BlocksButtonProps {
  button: BlockButton
  blockId: string | undefined
  message: Pick<BlocksProps['message'], 'id' | 'clickToken'>
  workspace: Workspace
}

/** A link, or a button whose click the app of the message gets. While it answers, and when it was refused, the button says so. */
function BlocksButton({
  button: { text, url, style, value, ...button },
  blockId,
  message: { id: messageId, clickToken },
  workspace,
}: BlocksButtonProps) {
  const isBusy = useSignal(false)
  const refusal = useSignal<string | null>(null)
  const look = { class: `button ${style ?? ''}` } as const
  if (url !== undefined) {
    return (
      <a {...look} {...linkTo(url)} title={url}>
        {withEmoji(text.text)}
      </a>
    )
  }
  async function click() {
    if (isBusy.value || messageId === undefined) return
    isBusy.value = true
    refusal.value = null
    try {
      await workspace.commands.click(messageId, {
        ...(blockId !== undefined && { blockId }),
        actionId: button.action_id,
        ...(value !== undefined && { value }),
        ...(clickToken !== undefined && { clickToken }),
      })
    } catch (error) {
      refusal.value = textOf(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <span>
      <button
        type="button"
        {...look}
        disabled={messageId === undefined}
        aria-busy={isBusy.value}
        onClick={() => void click()}
      >
        {withEmoji(text.text)}
        {isBusy.value && ' …'}
      </button>
      {refusal.value !== null && (
        <span class="send-state" data-failed role="alert">
          {' '}
          {refusal.value}
        </span>
      )}
    </span>
  )
}

/** The image is shown as a link: to load it would tell a foreign server who reads the message. */
const ImageLink = ({ image: { image_url: url, alt_text: alt, title } }: { image: BlockImage }) => (
  <a class="block-image" title={url} {...linkTo(url)}>
    <Icon name="file" /> {withEmoji(title?.text || alt || t('Image'))}
  </a>
)

function drawTable({ rows: [head, ...rows] }: BlockTable, drawText: DrawText) {
  const drawCell = (cell: BlockText | RichText) => (cell.type === 'rich_text' ? <Rich block={cell} /> : drawText(cell))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div class="table-scroller" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head?.map((cell) => (
              <th scope="col">{drawCell(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{drawCell(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Rich = ({ block: { elements } }: { block: RichText }) => (
  <div class="text plain">
    {elements.map((element) => {
      if (element.type !== 'rich_text_list') return drawSection(element)
      const items = element.elements.map((item) => <li>{item.elements.map(drawPart)}</li>)
      const indent = { '--indent': element.indent ?? 0 }
      return element.style === 'ordered' ? <ol style={indent}>{items}</ol> : <ul style={indent}>{items}</ul>
    })}
  </div>
)

function drawSection({ type, elements }: RichTextSection) {
  const parts = elements.map(drawPart)
  if (type === 'rich_text_quote') return <blockquote>{parts}</blockquote>
  if (type === 'rich_text_section') return <div>{parts}</div>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre tabIndex={0} dir="ltr">
      <code>{parts}</code>
    </pre>
  )
}

function drawPart(part: RichTextPart): ComponentChildren {
  if (part.type === 'emoji') return emojiByName(part.name) ?? `:${part.name}:`
  const { bold, italic, strike, code } = part.style ?? {}
  let drawn: ComponentChildren = part.text
  if (part.type === 'link') {
    drawn = (
      <a title={part.url} {...linkTo(part.url)}>
        {part.text ?? part.url}
      </a>
    )
  }
  if (code) drawn = <code>{drawn}</code>
  if (strike) drawn = <s>{drawn}</s>
  if (italic) drawn = <em>{drawn}</em>
  return bold ? <strong>{drawn}</strong> : drawn
}

const withEmoji = (text: string) =>
  withoutHeapedMarks(text).replace(/:([a-z0-9_+-]{1,64}):/gi, (written, name: string) => emojiByName(name) ?? written)
