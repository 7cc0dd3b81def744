import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { focusHeading } from '../ui/focus.ts'

/** Shown instead of a page for admins, also to somebody who was an admin until now. */
export function OnlyAdmins() {
  useEffect(() => {
    // What had the focus was removed together with the page.
    if (document.activeElement === document.body) focusHeading()
  }, [])
  return <p>{t('Only admins may see this page.')}</p>
}
