import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { IconButton } from './icons.tsx'

export interface MenuItem {
  name: string
  /** Identifies an item whose name may change while the menu is open. */
  key?: string
  onChoose?: () => void
  href?: string
  isDangerous?: boolean
  /** Whether there is a separator above the item. */
  hasSeparator?: boolean
}

interface MenuProps {
  /** The name of the button that opens the menu. */
  name: string
  /** Replaces the three dots in the button. */
  face?: ComponentChildren
  items: readonly MenuItem[]
  /** Called when the menu opens. */
  onOpen?: () => void
}

/** A button with a menu. The arrow keys move, Enter chooses, and Escape closes the menu and focuses the button. */
export function Menu({ name, face, items, onOpen }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const root = useRef<HTMLSpanElement>(null)
  const button = () => root.current!.querySelector('button')!

  // Before the first frame, because a key that is pressed again at once must reach the menu and not the button.
  useLayoutEffect(() => {
    if (!isOpen) return
    onOpen?.()
    // A popover is above everything, so that the list around the button does not clip it.
    box.current!.showPopover()
    positionAt(box.current!, button())
    box.current!.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const closeOutside = (event: Event) => {
      if (!root.current!.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => document.removeEventListener('pointerdown', closeOutside)
  }, [isOpen])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.stopPropagation()
      setOpen(false)
      button().focus()
      return
    }
    const all = [...box.current!.querySelectorAll<HTMLElement>('[role=menuitem]')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key]
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    all.at(next % all.length)?.focus()
  }

  return (
    <span ref={root}>
      <IconButton icon="more" face={face} name={name} expanded={isOpen} onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        <div ref={box} class="menu" popover="manual" role="menu" aria-label={name} onKeyDown={onKeyDown}>
          {items.map((item) => (
            <Item
              key={item.key ?? item.name}
              item={item}
              close={() => {
                setOpen(false)
                // The button gets the focus first, because a dialog of the item restores the focus to the current element.
                button().focus()
              }}
            />
          ))}
        </div>
      )}
    </span>
  )
}

function Item({ item, close }: { item: MenuItem; close: () => void }) {
  const { name, onChoose, href } = item
  const choose = () => {
    close()
    onChoose?.()
  }
  const props = {
    role: 'menuitem' as const,
    class: ['menu-item', item.isDangerous && 'danger', item.hasSeparator && 'separated'].filter(Boolean).join(' '),
    tabIndex: -1,
    onClick: choose,
  }
  return href ? (
    <a href={href} {...props}>
      {name}
    </a>
  ) : (
    <button type="button" {...props}>
      {name}
    </button>
  )
}

/** The space between a menu and its button, and between a menu and the edge of the viewport. */
const marginPx = 4

/**
 * Places a menu or a dialog below its button, or above it if there is not enough space, and within the viewport. Its right edge is that of
 * the button, or with `isLeft` its left edge.
 */
export function positionAt(box: HTMLElement, button: Element, isLeft = false) {
  const at = button.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = box
  const below = at.bottom + marginPx
  const top = below + height > innerHeight ? Math.max(marginPx, at.top - height - marginPx) : below
  box.style.inset = 'auto'
  box.style.top = `${top}px`
  box.style.left = `${Math.min(Math.max(marginPx, isLeft ? at.left : at.right - width), innerWidth - width - marginPx)}px`
}
