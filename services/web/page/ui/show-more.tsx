import { useRef } from 'preact/hooks'
import { t } from '../texts/texts.ts'

/** The button below a list that is loaded page by page. While `onMore` loads a page, further clicks have no effect. */
export function ShowMore({ onMore }: { onMore: () => Promise<unknown> }) {
  const isLoading = useRef(false)
  async function load() {
    if (isLoading.current) return
    isLoading.current = true
    await onMore().finally(() => {
      isLoading.current = false
    })
  }
  return (
    <button type="button" class="button" onClick={() => void load()}>
      {t('Show more')}
    </button>
  )
}
