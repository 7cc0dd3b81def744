import { Icon, type IconName } from './icons.tsx'

/** Shown instead of an empty list, with a hint what to do. */
export const Empty = ({ icon, title, hint }: { icon: IconName; title: string; hint?: string }) => (
  <div class="empty">
    <Icon name={icon} />
    <p class="title">{title}</p>
    {hint && <p>{hint}</p>}
  </div>
)
