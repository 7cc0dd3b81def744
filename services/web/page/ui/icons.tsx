import type { ComponentChildren } from 'preact'

/** Outlines drawn for Parley on a grid of 24; each is decoration, the button around it has the name. */
const outlines = {
  hash: 'M9 4 7 20M17 4l-2 16M4 9h16M3.5 15h16',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.5 16.5 21 21',
  browse: 'M4 6h16M4 12h16M4 18h10',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20a7.5 7.5 0 0 1 15 0',
  pin: 'M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5',
  settings:
    'M4 8h8M18 8h2M15 5.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM4 16h2M12 16h8M9 13.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z',
  smile: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM9 10v.5M15 10v.5M8.5 14a4 4 0 0 0 7 0',
  thread: 'M5 5h14v10h-8l-4 4v-4H5zM9 9h6M9 12h4',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  more: 'M6 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM12 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM18 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z',
  attach: 'M19 11.5 12 18.5a4.5 4.5 0 0 1-6.4-6.4l7.5-7.5a3 3 0 0 1 4.3 4.3l-7.4 7.4a1.5 1.5 0 0 1-2.1-2.1l6.6-6.6',
  send: 'M4 12 20 5l-6 15-3-6z',
  quote: 'M5 7v6h5V7zM14 7v6h5V7zM10 13c0 3-2 4-4 4M19 13c0 3-2 4-4 4',
  link: 'M10 14a4 4 0 0 0 6 .5l2.5-2.5a4 4 0 0 0-5.7-5.7L11.5 7.6M14 10a4 4 0 0 0-6-.5L5.500 12a4 4 0 0 0 5.700 5.700l1.300-1.300',
  down: 'M12 5v14M6 13l6 6 6-6',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  bold: 'M8 5h5a3.500 3.500 0 0 1 0 7H8zM8 12h6a3.500 3.500 0 0 1 0 7H8z',
  italic: 'M10 5h7M7 19h7M14 5l-4 14',
  strike: 'M5 12h14M8 8.500c0-4 8-4 8-.5M8 16c0 4 8 4 8-.5',
  code: 'M9 8l-5 4 5 4M15 8l5 4-5 4',
} as const
export type IconName = keyof typeof outlines

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={outlines[name]} />
  </svg>
)

interface IconButtonProps {
  icon: IconName
  /** Stands there instead of the icon. */
  face?: ComponentChildren
  /** The accessible name, shown as a tooltip too. */
  name: string
  onClick?: (event: MouseEvent) => void
  /** The shortcut, which stands in the tooltip. */
  keys?: string
  class?: string
  disabled?: boolean
  expanded?: boolean
  tabIndex?: number
}

export const IconButton = ({
  icon,
  face,
  name,
  keys,
  onClick,
  disabled,
  expanded,
  tabIndex,
  ...props
}: IconButtonProps) => (
  <button
    type="button"
    class={`icon-button ${props.class ?? ''}`}
    aria-label={name}
    title={keys === undefined ? name : `${name} (${keys})`}
    onClick={onClick}
    disabled={disabled}
    tabIndex={tabIndex}
    {...(expanded !== undefined && { 'aria-expanded': expanded, 'aria-haspopup': true })}
  >
    {face ?? <Icon name={icon} />}
  </button>
)
