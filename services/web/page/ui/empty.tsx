import { Icon, type IconName } from './icons.tsx'

/** Says that there is nothing yet, and what to do about it. */
export const Empty = ({ icon, title, hint }: { icon: IconName; title: string; hint?: string }) => (
  <div class="empty">
    <Icon name={icon} />
    <p class="title">{title}</p>
    {hint && <p>{hint}</p>}
  </div>
)
