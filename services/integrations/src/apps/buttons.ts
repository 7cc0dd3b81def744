import type { BlockButton, MessageBlock } from '@parley/contract'

export interface Clicked {
  button: BlockButton
  /** Empty when the block has no id. */
  blockId: string
}

interface Click {
  blockId?: string
  actionId: string
  value?: string
}

/** The button that a click names. A click with a value must have the button's value, so that nobody sends the app another value. */
export function findButton(blocks: readonly MessageBlock[], click: Click): Clicked | undefined {
  for (const block of blocks) {
    if (block.type === 'attachment') {
      const found = findButton(block.blocks, click)
      if (found) return found
      continue
    }
    const blockId = 'block_id' in block ? (block.block_id ?? '') : ''
    if (click.blockId !== undefined && click.blockId !== blockId) continue
    for (const button of clickableOf(block)) {
      if (button.action_id !== click.actionId) continue
      if (click.value === undefined || click.value === (button.value ?? '')) return { button, blockId }
    }
  }
  return undefined
}

/** The blocks that have a button whose clicks are sent to the app. */
export const blocksWithButtons = (blocks: readonly MessageBlock[]): MessageBlock[] =>
  blocks.filter((block) =>
    block.type === 'attachment' ? blocksWithButtons(block.blocks).length > 0 : clickableOf(block).length > 0,
  )

/** The buttons whose clicks are sent to the app. Buttons with an address are links. */
function clickableOf(block: MessageBlock): BlockButton[] {
  const buttons = block.type === 'actions' ? block.elements : block.type === 'section' ? [block.accessory] : []
  return buttons.flatMap((button) => (button?.type === 'button' && button.url === undefined ? [button] : []))
}
