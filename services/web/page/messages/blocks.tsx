import type { BlockButton, BlockImage, BlockTable, BlockText, Message, MessageBlock, RichText } from '@parley/contract'
import { emojiForm } from '@parley/markup'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { emojiOrName } from '../emoji/emoji.ts'
import { t } from '../texts/texts.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { textOf } from '../ui/problems.ts'
import { Text, withoutHeapedMarks } from './markup.tsx'
import { linkTo, RichTextBlock } from './rich-text.tsx'

interface BlocksProps {
  /** Without an id its buttons cannot be clicked. An ephemeral message has a `clickToken`. */
  message: Pick<Message, 'content' | 'blocks' | 'mentions'> & { id?: string; clickToken?: string }
  workspace: Workspace
  id?: string
}

/** The blocks of a message, which are shown instead of its text. The text is shown when this page does not know one of the blocks. */
export function Blocks(props: BlocksProps) {
  const { message, workspace, id } = props
  const [problem] = useErrorBoundary()
  if (problem) return <Text id={id} content={message.content} mentions={message.mentions} workspace={workspace} />
  return <AllBlocks {...props} />
}

/** A separate component, so that the error boundary above it catches its errors. */
function AllBlocks({ message, workspace, id }: BlocksProps) {
  const renderText: RenderText = ({ type, text }) =>
    type === 'mrkdwn' ? (
      <Text content={text} mentions={message.mentions} workspace={workspace} isPart />
    ) : (
      <div class="text plain">{withEmoji(text)}</div>
    )
  const renderButton: Renderers['renderButton'] = (button, blockId) => (
    <BlocksButton button={button} blockId={blockId} message={message} workspace={workspace} renderText={renderText} />
  )
  return (
    <div class="blocks" id={id} dir="auto">
      {message.blocks.map((block) => renderBlock(block, { renderText, renderButton }))}
    </div>
  )
}

type RenderText = (text: BlockText) => ComponentChildren

/** The functions that render parts which depend on the message. */
interface Renderers {
  renderText: RenderText
  renderButton: (button: BlockButton, blockId: string | undefined) => ComponentChildren
}

function renderBlock(block: MessageBlock, renderers: Renderers): ComponentChildren {
  const { renderText } = renderers
  switch (block.type) {
    case 'header':
      return <div class="block-header">{renderText(block.text)}</div>
    case 'section': {
      const { text, fields = [], accessory } = block
      return (
        <div class="block-section">
          <div>
            {text && renderText(text)}
            {fields.length > 0 && <div class="block-fields">{fields.map(renderText)}</div>}
          </div>
          {accessory && renderElement(accessory, renderers, block.block_id)}
        </div>
      )
    }
    case 'context':
      return <div class="block-context">{block.elements.map((element) => renderElement(element, renderers))}</div>
    case 'divider':
      return <hr />
    case 'image':
      return <ImageLink image={block} />
    case 'actions':
      return (
        <div class="block-actions">
          {block.elements.map((element) => renderElement(element, renderers, block.block_id))}
        </div>
      )
    case 'rich_text':
      return <RichTextBlock block={block} />
    case 'table':
      return renderTable(block, renderText)
    case 'attachment':
      return (
        <div class="block-attachment" style={{ '--bar': block.color }}>
          {block.blocks.map((inner) => renderBlock(inner, renderers))}
        </div>
      )
    default:
      throw new Error('This page does not know the type of a block. The server is newer')
  }
}

function renderElement(
  element: BlockText | BlockImage | BlockButton,
  { renderText, renderButton }: Renderers,
  blockId?: string,
): ComponentChildren {
  if (element.type === 'button') return renderButton(element, blockId)
  return element.type === 'image' ? <ImageLink image={element} /> : renderText(element)
}

interface BlocksButtonProps {
  button: BlockButton
  blockId: string | undefined
  message: Pick<BlocksProps['message'], 'id' | 'clickToken'>
  workspace: Workspace
  renderText: RenderText
}

/**
 * A link, or a button whose click is sent to the app of the message, after the person has confirmed it if the button demands it. The button
 * shows that it waits for the app, and shows an error.
 */
function BlocksButton({
  button: { text, url, style, value, confirm, ...button },
  blockId,
  message: { id: messageId, clickToken },
  workspace,
  renderText,
}: BlocksButtonProps) {
  const isAsking = useSignal(false)
  const isBusy = useSignal(false)
  const refusal = useSignal<string | null>(null)
  const attributes = { class: `button ${style ?? ''}` } as const
  if (url !== undefined) {
    return (
      <a {...attributes} {...linkTo(url)} title={url}>
        {withEmoji(text.text)}
      </a>
    )
  }
  function press() {
    if (confirm) isAsking.value = true
    else void click()
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
      <button type="button" {...attributes} disabled={messageId === undefined} aria-busy={isBusy.value} onClick={press}>
        {withEmoji(text.text)}
        {isBusy.value && ' …'}
      </button>
      {confirm && isAsking.value && (
        <Confirm
          name={(confirm.title ?? text).text}
          question={renderText(confirm.text)}
          confirmLabel={(confirm.confirm ?? text).text}
          cancelLabel={confirm.deny?.text}
          look={confirm.style ?? 'primary'}
          onConfirm={() => void click()}
          onClose={() => (isAsking.value = false)}
        />
      )}
      {refusal.value !== null && (
        <span class="send-state" data-failed role="alert">
          {' '}
          {refusal.value}
        </span>
      )}
    </span>
  )
}

/** An image, shown as a link. If the page loaded it, another server would know who reads the message. */
const ImageLink = ({ image: { image_url: url, alt_text: alt, title } }: { image: BlockImage }) => (
  <a class="block-image" title={url} {...linkTo(url)}>
    <Icon name="file" /> {withEmoji(title?.text || alt || t('Image'))}
  </a>
)

function renderTable({ rows: [head, ...rows] }: BlockTable, renderText: RenderText) {
  const renderCell = (cell: BlockText | RichText) =>
    cell.type === 'rich_text' ? <RichTextBlock block={cell} /> : renderText(cell)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div class="table-scroller" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head?.map((cell) => (
              <th scope="col">{renderCell(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{renderCell(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A text that has no formats except emoji. */
const withEmoji = (text: string) => withoutHeapedMarks(text).replace(emojis, (_, name: string) => emojiOrName(name))
const emojis = new RegExp(emojiForm, 'gi')
