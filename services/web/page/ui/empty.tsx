import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icons.tsx'

interface EmptyProps {
  icon: IconName
  title: string
  hint?: string
  /** What the person can do. */
  children?: ComponentChildren
}

/** Shown instead of an empty list, with a hint what to do. */
export const Empty = ({ icon, title, hint, children }: EmptyProps) => (
  <div class="empty">
    <Icon name={icon} />
    <p class="title">{title}</p>
    {hint && <p>{hint}</p>}
    {children}
  </div>
)
