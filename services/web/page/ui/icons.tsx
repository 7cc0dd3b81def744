import type { ComponentChildren } from 'preact'

/** The outlines of the icons on a grid of 24. Icons are decorative: the accessible name belongs to the button. */
const outlines = {
  hash: 'M10 4 8 20M16 4l-2 16M4.5 9H20M4 15h15.5',
  lock: 'M7.5 11V8a4.5 4.5 0 0 1 9 0v3M7 11h10a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2z',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  browse: 'M4 6h16M4 12h5M4 18h5M15.5 10.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM18.5 17.5 21 20',
  list: 'M9.5 6H20M9.5 12H20M9.5 18H20M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  pin: 'M8.5 4h7M10 4v6l-3.5 4v1.5h11V14L14 10V4M12 15.5V21',
  settings:
    'M4 8h8M18 8h2M15 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM4 16h2M12 16h8M9 13.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  smile: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM9.2 9.8v.4M14.8 9.8v.4M8.5 14a4 4 0 0 0 7 0',
  react: 'M13.5 4.1A8 8 0 1 0 19.9 11M9.2 9.8v.4M14.8 9.8v.4M8.5 14a4 4 0 0 0 7 0M19 2v6M16 5h6',
  thread: 'M7.5 4.5h9a3 3 0 0 1 3 3v5a3 3 0 0 1-3 3H12l-4.5 4v-4a3 3 0 0 1-3-3v-5a3 3 0 0 1 3-3zM9 8.7h6M9 11.7h4',
  mention: 'M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM15.5 8.5v5a2.2 2.2 0 0 0 4.5 0V12a8 8 0 1 0-3 6.2',
  saved: 'M7 4h10v16l-5-4-5 4z',
  edit: 'M5 19l.8-3.8L15.5 5.5a2.1 2.1 0 0 1 3 3L8.8 18.2zM13.8 7.2l3 3',
  more: 'M6 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM12 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM18 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z',
  attach: 'M19 11.5 12 18.5a4.5 4.5 0 0 1-6.4-6.4l7.5-7.5a3 3 0 0 1 4.3 4.3l-7.4 7.4a1.5 1.5 0 0 1-2.1-2.1l6.6-6.6',
  send: 'M20 4 10.5 13.5M20 4l-6 16-3.5-6.5L4 10z',
  quote: 'M10 6.5A4.5 4.5 0 0 0 5.5 11v5H10v-5H5.5M19 6.5a4.5 4.5 0 0 0-4.5 4.5v5H19v-5h-4.5',
  link: 'M10 14a4 4 0 0 0 5.7.3l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-5.7-.3l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2',
  down: 'M12 5v14M6 13l6 6 6-6',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  file: 'M8 3.5h6L18.5 8v10.5a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2v-13a2 2 0 0 1 2-2zM14 3.5V8h4.5',
  bold: 'M8 5h5a3.5 3.5 0 0 1 0 7H8zM8 12h6a3.5 3.5 0 0 1 0 7H8z',
  italic: 'M10.5 5H17M7 19h6.5M14.5 5l-5 14',
  strike: 'M4.5 12h15M16.5 5H10a3 3 0 0 0-3 4M14 12a3.5 3.5 0 0 1 0 7H7',
  code: 'M8.5 7.5 4 12l4.5 4.5M15.5 7.5 20 12l-4.5 4.5',
  newline: 'M20 6v4a4 4 0 0 1-4 4H5M9 9.5 4.5 14 9 18.5',
  muted: 'M9 5.9a5.5 5.5 0 0 1 8.5 4.6v3M17 17.5H5l1.5-2v-5a5.5 5.5 0 0 1 .4-2M10 20h4M4.5 4.5l15 15',
} as const
export type IconName = keyof typeof outlines

export const Icon = ({ name }: { name: IconName }) => <Drawing outline={outlines[name]} />

/** An icon that is not in the list, because only a part of the page that is loaded later has it. */
export const Drawing = ({ outline }: { outline: string }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={outline} />
  </svg>
)

interface IconButtonProps {
  icon?: IconName
  /** Shown instead of the icon. */
  face?: ComponentChildren
  /** The accessible name, shown as a tooltip too. */
  name: string
  onClick?: (event: MouseEvent) => void
  /** The shortcut, which the tooltip shows. */
  keys?: string
  class?: string
  expanded?: boolean
  /** Whether a button that switches something is on. */
  pressed?: boolean
  /** What the button opens. */
  opens?: 'popup' | 'part of the page'
}

export const IconButton = ({
  icon,
  face,
  name,
  keys,
  onClick,
  expanded,
  pressed,
  opens = 'popup',
  ...props
}: IconButtonProps) => (
  <button
    type="button"
    class={`icon-button ${props.class ?? ''}`}
    aria-label={name}
    title={keys === undefined ? name : `${name} (${keys})`}
    onClick={onClick}
    aria-expanded={expanded}
    aria-pressed={pressed}
    aria-haspopup={expanded !== undefined && opens === 'popup' ? true : undefined}
  >
    {face ?? (icon && <Icon name={icon} />)}
  </button>
)
