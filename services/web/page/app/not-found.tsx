import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { showTitle } from '../ui/browser-tab.ts'

/** Shown at an address at which the page has no view. */
export function NotFound() {
  const heading = t('There is no such page')
  useEffect(() => {
    const { title } = document
    showTitle(`${heading} – Parley`)
    return () => showTitle(title)
  }, [heading])
  return (
    <>
      <h1>{heading}</h1>
      <p>{t('The link may be incomplete, or the page may have moved.')}</p>
      <a href="/">{t('Back to Parley')}</a>
    </>
  )
}
